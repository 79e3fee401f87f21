"""One seed of the simulation in a process of its own, and what became of it. Used by deploy/lib/simulation*.py."""

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# Little: the kit looks for its folders there at each launch of an app. And no run depends on the rest.
_INHERITED = re.compile(r"(PATH|HOME|TMPDIR|LD_LIBRARY_PATH|(ASAN|TSAN|UBSAN|LLVM)_.*)")
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if _INHERITED.fullmatch(name)},
               "SWIFT_DETERMINISTIC_HASHING": "1", "TZ": "UTC"}
SOURCES = pathlib.Path(__file__).parents[2] / "Tests/Simulation"
_LONGEST_A_DAY = 120    # CPU-seconds, for each virtual day, and seconds without any: more is a finding, too
_LEAK = "SWIFT TASK CONTINUATION MISUSE"


@dataclasses.dataclass(frozen=True)
class Case:
    """What decides a run, beside the program."""
    seed: int
    days: int = 3
    devices: int = 10
    without: tuple[str, ...] = ()
    plant: str | None = None

    def arguments(self):
        words = ["--seed", str(self.seed), "--days", str(self.days), "--devices", str(self.devices)]
        words += ["--without", ",".join(self.without)] if self.without else []
        return words + (["--plant", self.plant] if self.plant else [])

    def __str__(self):
        return f"deploy/simulation {shlex.join(self.arguments())}"

    @property
    def weight(self):
        """What it costs, about: devices are most of it."""
        return self.days * (self.devices - sum(name.startswith("d_") for name in self.without))


@dataclasses.dataclass
class Run:
    case: Case
    finding: str | None
    output: str
    trace: str | None
    seconds: float
    states: dict[str, int]


def read_saved(name):
    """The cases of a file in Tests/Simulation, with what stands behind # in their lines."""
    saved = []
    for line in (SOURCES / name).read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        words, _, meaning = line.partition(" # ")
        values = dict(zip(words.split()[::2], words.split()[1::2]))
        without = values.get("--without")
        saved.append((Case(int(values["--seed"]), int(values["--days"]), int(values["--devices"]),
                           tuple(without.split(",")) if without else (), values.get("--plant")), meaning.strip()))
    return saved


def names(program, option):
    """What the program lists: --faults, --states or --plants."""
    listed = subprocess.run([str(program), option], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True)
    return listed.stdout.splitlines()


def run_all(program, cases, jobs, twice=False):
    """Each run as soon as it has ended."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        pending = {pool.submit(run_twice if twice else run, program, case) for case in cases}
        try:
            for done in concurrent.futures.as_completed(pending):
                yield done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run_twice(program, case):
    first = run(program, case)
    if first.finding:
        return first
    # A trace shows what the run does without one.
    again = run(program, case, ["--trace"])
    if again.finding or again.trace != first.trace:
        first.finding = f"the same seed does something else: {first.trace} and {again.trace or again.finding}"
    return first


def run(program, case, options=()):
    folder = _folder()
    began = time.monotonic()
    try:
        with subprocess.Popen([str(program), *case.arguments(), "--folder", folder, *options], env=ENVIRONMENT,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
            try:
                output, code = _ended(process, _LONGEST_A_DAY * case.days)
            except BaseException:
                process.kill()
                raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    trace = re.search(r"^events \d+, jobs \d+, trace (\w+)$", output, re.MULTILINE)
    states = {name: int(count) for name, count in re.findall(r"^reached (.+): (\d+)$", output, re.MULTILINE)}
    return Run(case, _finding(output, code), output, trace and trace[0], time.monotonic() - began, states)


def _ended(process, longest):
    """(output, exit status); without a status where it does not end. That is told by its own time, not by the clock: others may
    have the cores."""
    used, since = 0, time.monotonic()
    while True:
        try:
            return process.communicate(timeout=5)[0], process.returncode
        except subprocess.TimeoutExpired:
            before, used = used, _cpu_of(process.pid)
        if used > before:
            since = time.monotonic()
        if max(used, time.monotonic() - since) > longest:
            process.kill()
            return process.communicate()[0], None


def _cpu_of(pid):
    """Seconds of a process that runs (proc(5), stat)."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def show_trace(program, case):
    """Each event on standard output."""
    folder = _folder()
    try:
        return subprocess.run([str(program), *case.arguments(), "--folder", folder, "--trace"], env=ENVIRONMENT).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def cpu():
    """Seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _folder():
    """On a tmpfs: files of a device are many and small. Short, for unix sockets are in it."""
    return tempfile.mkdtemp(prefix="cloakroom-sim-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


def _finding(output, code):
    if _LEAK in output:
        return next(line for line in output.splitlines() if _LEAK in line)
    if code == 0:
        return None
    if code is None:
        return "it does not end"
    if code == 2:
        print(output.strip(), file=sys.stderr)
        raise SystemExit(2)
    found = re.search(r"^finding: (.+)$", output, re.MULTILINE)
    if found:
        return found[1]
    how = f"a trap ({signal.Signals(-code).name})" if code < 0 else f"exit status {code}"
    return f"{how}: {' '.join(output.strip().splitlines()[-3:])[-400:]}"

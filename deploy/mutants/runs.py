"""Runs of the tests: which suites reach which mutant, and which mutants the suites find."""

import collections
import dataclasses
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time

_ISSUE = re.compile(r"^\S+ +Test (.*?) recorded an issue")
_MEMORY = 8 << 30


@dataclasses.dataclass
class Run:
    """How a run of some suites ended: `failure` is None when all passed, or what ended it."""

    failure: str | None
    seconds: float
    timed_out: bool = False


class Tests:
    """The package's tests, in one program."""

    def __init__(self, programs, mutated):
        self._program = next(programs.glob("*.xctest"))
        self._mutated = mutated
        self._running = set()
        self._is_stopped = False
        self._environment = dict(
            os.environ, SWIFT_BACKTRACE="enable=no", NO_COLOR="1", CLOAKROOM_WORKER=str(programs / "cloakroom"),
            CLOAKROOM_SAMPLE=str(programs / "cloakroom-sample"))

    def suites(self):
        """By the module they are in; a test without a suite is one of its own."""
        said = subprocess.run([self._program, "--testing-library", "swift-testing", "--list-tests"], check=True,
                              capture_output=True, text=True, env=self._environment).stdout
        suites = collections.defaultdict(dict)
        for line in said.splitlines():
            module = line.partition(".")[0]
            # A slash may stand in a test's name, which is in backticks.
            suite = re.sub(r"`[^`]*`", lambda name: name[0].replace("/", "\0"), line).rpartition("/")[0].replace("\0", "/")
            suites[module][suite or line] = None
        return {module: list(names) for module, names in suites.items()}

    def run(self, suites, limit, mutant=0, record=None):
        """Runs suites of one module until the first failure, at most so many seconds."""
        if self._is_stopped:
            raise KeyboardInterrupt
        module = suites[0].partition(".")[0]
        width = self._mutated.width.get(module, 16)
        scratch = tempfile.mkdtemp(prefix="cloakroom-mutant.")
        environment = dict(self._environment, TMPDIR=scratch, CLOAKROOM_MUTANT=str(mutant),
                           SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=str(width))
        if record:
            environment["CLOAKROOM_MUTANT_RECORD"] = str(record)
        names = "|".join(re.escape(each).replace("/", r"\/") for each in suites)
        command = ["nice", "-n", "15", self._program, "--testing-library", "swift-testing",
                   "--filter", f"^({names})(\\/|$)"]
        began = time.monotonic()
        process = subprocess.Popen([*command, *(["--no-parallel"] if width == 1 else [])], env=environment, text=True,
                                   errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True, preexec_fn=_limits)
        self._running.add(process.pid)
        late = threading.Event()

        def stop():
            late.set()
            _kill(process.pid)

        timer = threading.Timer(limit, stop)
        timer.start()
        failure, last = None, ""
        try:
            for line in process.stdout:
                last = line.strip() or last
                if found := _ISSUE.match(line):
                    failure = found[1]
                    _kill(process.pid)
                    break
            status = process.wait()
        finally:
            timer.cancel()
            _kill(process.pid)
            process.stdout.close()
            process.wait()
            self._running.discard(process.pid)
            _kill_session(process.pid)
            _unmount_below(scratch)
            shutil.rmtree(scratch, ignore_errors=True)
        if self._is_stopped:
            raise KeyboardInterrupt
        seconds = time.monotonic() - began
        if failure is None and late.is_set():
            return Run(f"no end within {limit:.0f} s", seconds, timed_out=True)
        if failure is None and status:
            failure = f"signal {-status}" if status < 0 else f"status {status}: {last[:200]}"
        return Run(failure, seconds)

    def stop(self):
        """Ends what runs; nothing runs after that."""
        self._is_stopped = True
        for pid in list(self._running):
            _kill(pid)


def _limits():
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _kill(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _kill_session(leader):
    """What the tests started: a server that has a process group of its own is still of their session."""
    for folder in pathlib.Path("/proc").iterdir():
        try:
            # Behind the name, which may hold anything: state, parent, group, session.
            if folder.name.isdigit() and int((folder / "stat").read_text().rpartition(")")[2].split()[3]) == leader:
                os.kill(int(folder.name), signal.SIGKILL)
        except OSError:
            continue


def _unmount_below(folder):
    """Small disks of tests that were killed."""
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        place = line.split()[1]
        if place.startswith(folder + "/"):
            subprocess.run(["umount", place], capture_output=True)


class Reach:
    """Which suites reach which mutant, how long each takes without one, and which fail without one."""

    def __init__(self, path):
        self._path = path
        self._lock = threading.Lock()
        self.suites = json.loads(path.read_text()) if path.exists() else {}

    def record(self, tests, suite):
        with tempfile.NamedTemporaryFile(prefix="cloakroom-reach.") as file:
            run = tests.run([suite], 300, record=file.name)
            # A failure may be one of a machine that is busy.
            if run.failure:
                run = tests.run([suite], 300, record=file.name)
            reached = sorted({int(line) for line in pathlib.Path(file.name).read_text().split()})
        with self._lock:
            self.suites[suite] = {"seconds": round(run.seconds, 2), "failure": run.failure, "reached": reached}

    def save(self):
        self._path.write_text(json.dumps(self.suites))

    def of(self, number):
        return [name for name, each in self.suites.items() if not each["failure"] and number in each["reached"]]

    def seconds(self, suites):
        return sum(self.suites[each]["seconds"] for each in suites)


def verdict(mutant, tests, reach, order, takes, say_if_unsure):
    """Runs the suites that reach a mutant, those of its own tests first, the short before the long. A failure counts when it
    comes twice.

    - order: modules of tests.
    - takes: whether a suite that takes so many seconds is to run.
    - Returns: what ended it, or None when it lives; and how long it took.
    """
    spent = 0.0
    reaching = reach.of(mutant.number)
    for module in order:
        suites = sorted((each for each in reaching if each.startswith(module + ".") and takes(reach.suites[each]["seconds"])),
                        key=lambda each: reach.suites[each]["seconds"])
        for part in _parts(suites, reach):
            limit = 3 * reach.seconds(part) + 20
            run = tests.run(part, limit, mutant.number)
            spent += run.seconds
            if run.failure and not run.timed_out:
                again = tests.run(part, limit, mutant.number)
                spent += again.seconds
                if not again.failure:
                    say_if_unsure(f"{mutant.place}: failed once only: {run.failure}")
                    run = again
            if run.failure:
                return f"{module}: {run.failure}", spent
    return None, spent


def _parts(suites, reach):
    """Runs of a few seconds, so that what is found early ends early."""
    part = []
    for suite in suites:
        part.append(suite)
        if reach.seconds(part) >= 4:
            yield part
            part = []
    if part:
        yield part

"""Runs seeds of the simulation, each in a process of its own, and tells what became of them. Called by deploy/simulation."""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

_LONGEST_A_DAY = 120    # seconds of a process, for each virtual day: more is a finding, too
_LEAK = "SWIFT TASK CONTINUATION MISUSE"


@dataclasses.dataclass
class Run:
    seed: int
    finding: str | None
    output: str
    trace: str | None
    seconds: float
    states: dict[str, int]


def main():
    options = _options()
    if options.plants:
        return subprocess.run([str(options.program), "--plants"], env=_ENVIRONMENT).returncode
    first, last = options.seeds
    if options.trace:
        return _trace(options, first)
    runs, findings = [], []
    began, used = time.monotonic(), _cpu()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        pending = {pool.submit(_seed, options, seed) for seed in range(first, last + 1)}
        for done in concurrent.futures.as_completed(pending):
            run = done.result()
            runs.append(run)
            if run.finding:
                findings.append(run)
                print(f"seed {run.seed}: {run.finding}\n  deploy/simulation {_again(options, run.seed)} --trace", flush=True)
            elif sys.stdout.isatty():
                print(f"\r{len(runs)} of {last - first + 1} seeds, {len(findings)} with findings ", end="", flush=True)
    days = len(runs) * options.days
    cpu = (_cpu() - used) / max(1, days) / (2 if options.twice else 1)
    states = sum((collections.Counter(each.states) for each in runs), collections.Counter())
    slowest = max(runs, key=lambda each: each.seconds)
    print(f"{len(runs)} seeds, {days} virtual days in {time.monotonic() - began:.0f} s: {len(findings)} with findings; "
          f"{cpu:.2f} CPU seconds a virtual day; the slowest: seed {slowest.seed}, {slowest.seconds:.1f} s")
    for name, count in sorted(states.items()):
        print(f"  {name}: {count:,}, in {sum(name in each.states for each in runs)} seeds")
    if options.json:
        options.json.write_text(json.dumps({
            "seeds": [first, last], "days": options.days, "devices": options.devices, "cpu_seconds_per_virtual_day": cpu,
            "findings": [{"seed": each.seed, "finding": each.finding} for each in findings], "states": dict(sorted(states.items())),
        }, indent=2) + "\n")
    return 1 if findings else 0


def _options():
    parser = argparse.ArgumentParser(prog="deploy/simulation", add_help=False, allow_abbrev=False)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--seeds", type=_range, default=(1, 20))
    parser.add_argument("--seed", type=int)
    parser.add_argument("--days", type=int, default=3)
    parser.add_argument("--devices", type=int, default=10)
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--plant")
    parser.add_argument("--plants", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if options.seed is not None:
        options.seeds = (options.seed, options.seed)
    elif options.trace:
        parser.error("--trace shows one seed: --seed N")
    if min(options.days, options.devices, options.jobs) < 1:
        parser.error("--days, --devices and --jobs are at least 1")
    return options


def _range(text):
    match = re.fullmatch(r"(\d+)-(\d+)", text)
    if not match or int(match[1]) > int(match[2]):
        raise argparse.ArgumentTypeError("such as 1-2000")
    return int(match[1]), int(match[2])


def _again(options, seed):
    plant = f" --plant {options.plant}" if options.plant else ""
    return f"--seed {seed} --days {options.days} --devices {options.devices}{plant}"


def _command(options, seed, folder):
    return [str(options.program), "--seed", str(seed), "--days", str(options.days), "--devices", str(options.devices),
            "--folder", folder, *(["--plant", options.plant] if options.plant else [])]


def _folder():
    """On a tmpfs: files of a device are many and small. Short, for unix sockets are in it."""
    return tempfile.mkdtemp(prefix="cloakroom-sim-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


_ENVIRONMENT = {**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1", "TZ": "UTC"}


def _trace(options, seed):
    folder = _folder()
    try:
        return subprocess.run([*_command(options, seed, folder), "--trace"], env=_ENVIRONMENT).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _seed(options, seed):
    run = _once(options, seed)
    if not options.twice or run.finding:
        return run
    again = _once(options, seed)
    if again.finding or again.trace != run.trace:
        run.finding = f"the same seed does something else: {run.trace} and {again.trace or again.finding}"
    return run


def _once(options, seed):
    folder = _folder()
    began = time.monotonic()
    try:
        finished = subprocess.run(_command(options, seed, folder), env=_ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors="replace", timeout=_LONGEST_A_DAY * options.days)
        output, code = finished.stdout, finished.returncode
    except subprocess.TimeoutExpired as late:
        output, code = (late.stdout or b"").decode(errors="replace") if isinstance(late.stdout, bytes) else late.stdout or "", None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    trace = re.search(r"^events \d+, jobs \d+, trace (\w+)$", output, re.MULTILINE)
    states = {name: int(count) for name, count in re.findall(r"^reached (.+): (\d+)$", output, re.MULTILINE)}
    return Run(seed, _finding(output, code), output, trace and trace[0], time.monotonic() - began, states)


def _finding(output, code):
    if _LEAK in output:
        return next(line for line in output.splitlines() if _LEAK in line)
    if code == 0:
        return None
    if code is None:
        return "it does not end"
    if code == 2:
        sys.exit(output.strip())
    found = re.search(r"^finding: (.+)$", output, re.MULTILINE)
    if found:
        return found[1]
    how = f"a trap ({signal.Signals(-code).name})" if code < 0 else f"exit status {code}"
    return f"{how}: {' '.join(output.strip().splitlines()[-3:])[-400:]}"


def _cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


sys.exit(main())

"""Load from wrk, and system calls counted by perf or strace while it runs."""

import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from processes import NotMeasured

_here = pathlib.Path(__file__).parent


def run(port, requests, connections, seconds):
    """One wrk run. Latencies in milliseconds; `errors` counts answers that are not 2xx or 3xx and broken connections."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "--latency",
               "-s", str(_here / "requests.lua"), f"http://127.0.0.1:{port}", "--", str(requests)]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 20)
    except subprocess.TimeoutExpired:
        raise NotMeasured("wrk did not end") from None
    numbers = re.search(r"^numbers ([\d ]+)$", finished.stdout, re.MULTILINE)
    if not numbers:
        raise NotMeasured(f"wrk: {(finished.stderr or finished.stdout).strip()[-200:]}")
    count, microseconds, p50, p99, *errors = map(int, numbers.group(1).split())
    if count == 0:
        raise NotMeasured("wrk got no answer")
    return {"requests": count, "seconds": microseconds / 1e6, "p50": p50 / 1e3, "p99": p99 / 1e3,
            "errors": sum(errors)}


def count_syscalls(pid, scratch, load):
    """System calls of a process while `load()` runs: how many per request. `load` gives what `run` gives."""
    count, stop = _perf(pid, scratch) if _perf_works() else _strace(pid, scratch)
    try:
        requests = load()["requests"]
    finally:
        stop()
    return count() / requests


@functools.cache
def _perf_works():
    if not shutil.which("perf"):
        return False
    probe = ["perf", "stat", "-e", "raw_syscalls:sys_enter", "true"]
    return subprocess.run(probe, capture_output=True, timeout=10).returncode == 0


def _perf(pid, scratch):
    output = pathlib.Path(scratch) / "perf.txt"
    stop = _attach(["perf", "stat", "-x,", "-o", output, "-e", "raw_syscalls:sys_enter", "-p", pid])

    def count():
        for line in output.read_text().splitlines():
            fields = line.split(",")
            if len(fields) > 2 and fields[2].startswith("raw_syscalls") and fields[0].isdigit():
                return int(fields[0])
        raise NotMeasured("perf counted no system calls")
    return count, stop


def _strace(pid, scratch):
    if not shutil.which("strace"):
        raise NotMeasured("neither perf nor strace can count system calls here")
    output = pathlib.Path(scratch) / "strace.txt"
    stop = _attach(["strace", "-c", "-f", "-o", output, "-p", pid])

    def count():
        for line in output.read_text().splitlines():
            fields = line.split()
            if fields and fields[-1] == "total":
                return int(fields[3])
        raise NotMeasured("strace counted no system calls")
    return count, stop


def _attach(command):
    tracer = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.3)

    def stop():
        if tracer.poll() is None:
            os.kill(tracer.pid, signal.SIGINT)
            try:
                tracer.wait(10)
            except subprocess.TimeoutExpired:
                tracer.kill()
                tracer.wait()
    return stop

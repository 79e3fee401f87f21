"""Load from wrk, and system calls counted by perf or strace while it runs."""

import dataclasses
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


@dataclasses.dataclass
class Requests:
    """A file of requests for wrk, and how many were sent: the next run goes on behind them."""
    path: pathlib.Path
    sent: int = 0


def run(port, requests, connections, seconds, timeout=10):
    """One wrk run of `Requests`. Latencies in milliseconds, the timeout in seconds.

    `errors`: answers that are not 2xx or 3xx, later ones than the timeout, and broken connections; `kinds` counts each.
    """
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", f"{timeout}s", "--latency",
               "-s", str(_here / "requests.lua"), f"http://127.0.0.1:{port}", "--",
               str(requests.path), str(requests.sent)]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=seconds + timeout + 10)
    except subprocess.TimeoutExpired:
        raise NotMeasured("wrk did not end") from None
    numbers = re.search(r"^numbers ([\d ]+)$", finished.stdout, re.MULTILINE)
    if not numbers:
        raise NotMeasured(f"wrk: {(finished.stderr or finished.stdout).strip()[-200:]}")
    count, microseconds, p50, p99, *errors = map(int, numbers.group(1).split())
    # Those under way at the end are not among the counted, nor is the one that wrk makes to look at it.
    requests.sent += count + connections + 1
    if count == 0:
        raise NotMeasured("wrk got no answer")
    return {"requests": count, "seconds": microseconds / 1e6, "p50": p50 / 1e3, "p99": p99 / 1e3,
            "errors": sum(errors), "kinds": dict(zip(_ERROR_KINDS, errors))}


def counter(wanted=None):
    """The instrument: perf, which does not disturb, or else strace, which slows what it counts about tenfold.

    A slowed process finds more connections ready at each turn, so strace shows fewer `epoll_wait` per request.
    """
    usable = [name for name, works in (("perf", _perf_works), ("strace", _strace_works)) if works()]
    if not usable or wanted not in (None, *usable):
        raise NotMeasured(f"{wanted or 'neither perf nor strace'} cannot count system calls here")
    return wanted or usable[0]


def count_syscalls(instrument, pid, scratch, load):
    """System calls of a process while `load()` runs, per request: (all, waits for events among them)."""
    output = pathlib.Path(scratch) / f"{instrument}.txt"
    output.unlink(missing_ok=True)
    command, parse = {"perf": (_PERF, _parse_perf), "strace": (["strace", "-c", "-f"], _parse_strace)}[instrument]
    tracer = subprocess.Popen([*command, "-o", str(output), "-p", str(pid)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.3)
        requests = load()["requests"]
    finally:
        _interrupt(tracer)
    counts = parse(output.read_text()) if output.exists() else {}
    if not counts.get("total"):
        raise NotMeasured(f"{instrument} counted no system calls of process {pid}")
    return counts["total"] / requests, sum(counts.get(name, 0) for name in _WAITS) / requests


_ERROR_KINDS = ("connect", "read", "write", "timeout", "status")    # as requests.lua prints them
_WAITS = ("epoll_wait", "epoll_pwait", "epoll_pwait2")
_PERF = ["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter",
         "-e", ",".join(f"syscalls:sys_enter_{name}" for name in _WAITS)]


def _parse_perf(text):
    counts = {}
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[0].isdigit():
            name = fields[2].split("sys_enter")[-1].lstrip("_")
            counts[name or "total"] = int(fields[0])
    return counts


def _parse_strace(text):
    rows = (line.split() for line in text.splitlines())
    return {row[-1]: int(row[3]) for row in rows if len(row) >= 5 and row[3].isdigit()}


@functools.cache
def _perf_works():
    return bool(shutil.which("perf")) and subprocess.run(
        [*_PERF, "true"], capture_output=True, timeout=10).returncode == 0


@functools.cache
def _strace_works():
    return bool(shutil.which("strace")) and subprocess.run(
        ["strace", "-o", os.devnull, "true"], capture_output=True, timeout=10).returncode == 0


def _interrupt(tracer):
    """perf and strace write what they counted on SIGINT."""
    if tracer.poll() is None:
        tracer.send_signal(signal.SIGINT)
        try:
            tracer.wait(10)
        except subprocess.TimeoutExpired:
            tracer.kill()
            tracer.wait()

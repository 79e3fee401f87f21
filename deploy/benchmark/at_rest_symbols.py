#!/usr/bin/env python3
"""Prints the functions that run until a worker has given its first answer, as the benchmark's scenario `start` starts it,
and behind them those that requests need besides.

    deploy/benchmark/at_rest_symbols.py WORKER >deploy/lib/at-rest.symbols

WORKER is the release binary that deploy/bench or deploy/run has built; valgrind, nginx and redis-server do the rest.
Our own functions change with time and fall out of the list by and by: make it anew when `rss_at_rest_mb` of
deploy/bench has grown.
"""

import pathlib
import re
import sys
import tempfile
import time

import fastcgi
import scenarios
from processes import NotMeasured
from stack import Stack

_HEADER = """\
# Functions that run until a worker has given its first answer, and then those of requests; the linker puts them side by
# side. Spread over a dozen megabytes each would bring its neighbours into memory, sixteen pages at a time (fault-around).
# Names that are not there any more are passed over. Made by deploy/benchmark/at_rest_symbols.py, with Swift 6.3.1.
"""
_START_SECONDS = 60
_REQUESTS = ("vend_cached", "vend_sts", "upload", "renew_20")


def profiled(worker, state, requests):
    """The callgrind file of a worker that was started, asked once and stopped.

    `requests`: names of scenarios whose first request it is sent before.
    """
    file = pathlib.Path(state) / "callgrind.out"
    with Stack(state, worker) as parts:
        parts.start_redis()
        port, _ = parts.start_canned()
        arguments, environment, path = parts.worker_command("start", port)
        counted = parts.start("start", ["valgrind", "--tool=callgrind", "--demangle=no",
                                        f"--callgrind-out-file={file}", *arguments], environment)
        end = time.monotonic() + _START_SECONDS
        while not fastcgi.answers(path):
            if not counted.running() or time.monotonic() > end:
                raise NotMeasured(f"the worker does not answer: {counted.last_words()}")
            time.sleep(0.05)
        if requests:
            ports, _ = parts.start_front({"start": True})
            for scenario in scenarios.all_scenarios():
                if scenario.name in requests:
                    scenario.check(ports["start"])
        time.sleep(1)
        counted.stop()
    return file


def ran(path, program):
    """The names of the program's functions in a callgrind file, which gives each name once and then its number."""
    names, objects, inside, found = {}, {}, False, set()
    with open(path) as file:
        for line in file:
            if match := re.match(r"(c?ob|c?fn)=\((\d+)\)(?: (.*))?", line):
                kind, number, text = match.groups()
                known = objects if kind.endswith("ob") else names
                if text:
                    known[number] = text.strip()
                if kind == "ob":
                    inside = known[number].endswith("/" + program)
                elif kind == "fn" and inside:
                    found.add(re.sub(r"'\d+$", "", known[number]))
    return found


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    worker = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="cloakroom-at-rest-") as state:
        try:
            first = ran(profiled(worker, state, ()), worker.name)
            then = ran(profiled(worker, state, _REQUESTS), worker.name)
        except NotMeasured as error:
            print(f"at_rest_symbols.py: {error}", file=sys.stderr)
            return 1
    names = sorted(first) + sorted(then - first)
    print(_HEADER + "\n".join(name for name in names if not name.startswith("0x")))
    return 0


if __name__ == "__main__":
    sys.exit(main())

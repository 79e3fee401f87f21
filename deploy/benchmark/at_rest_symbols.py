#!/usr/bin/env python3
"""Prints the functions that run until a worker has given its first answer, as the benchmark's scenario `start` starts it.

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
from processes import NotMeasured
from stack import Stack

_HEADER = """\
# Functions that run until a worker has given its first answer; the linker puts them side by side. Spread over a dozen
# megabytes each would bring its neighbours into memory, sixteen pages at a time (fault-around).
# Names that are not there any more are passed over. Made by deploy/benchmark/at_rest_symbols.py, with Swift 6.3.1.
"""
_START_SECONDS = 60


def started(worker, state):
    """The callgrind file of a worker that was started, asked once, left alone for a second and stopped."""
    file = pathlib.Path(state) / "callgrind.out"
    with Stack(state, worker, None, "info", None, None) as parts:
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
            names = ran(started(worker, state), worker.name)
        except NotMeasured as error:
            print(f"at_rest_symbols.py: {error}", file=sys.stderr)
            return 1
    print(_HEADER + "\n".join(sorted(name for name in names if not name.startswith("0x"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())

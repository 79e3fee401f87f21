#!/usr/bin/env python3
"""Writes at-rest.symbols: the functions that run until a worker has given its first answer.

    valgrind --tool=callgrind --demangle=no --callgrind-out-file=FILE cloakroom serve --listen … SETTINGS
    at_rest_symbols.py FILE cloakroom >at-rest.symbols

Our own change with time and fall out of it by and by: make it anew when `rss_at_rest_mb` of deploy/bench has grown.
"""

import re
import sys

_HEADER = """\
# Functions that run until a worker has given its first answer; the linker puts them side by side. Spread over a dozen
# megabytes each would bring its neighbours into memory, sixteen pages at a time (fault-around).
# Names that are not there any more are passed over. Made by at_rest_symbols.py, with Swift 6.3.1.
"""


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
    path, program = sys.argv[1:]
    print(_HEADER + "\n".join(sorted(ran(path, program))))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes at-rest.symbols: the toolchain's functions that run until a worker has given its first answer.

    valgrind --tool=callgrind --demangle=no --callgrind-out-file=FILE cloakroom serve --listen … SETTINGS
    at_rest_symbols.py FILE cloakroom >at-rest.symbols

Our own functions are left out: they change with each commit, and they are few beside the standard library's.
"""

import re
import sys

_OURS = ("cloakroom", "Service", "AWS", "JOSE", "CloakroomWire", "CloakroomCrypto", "Signatures", "Redis", "FastCGI",
         "Loop", "StrictJSON", "HTTPValues", "Curl")
_HEADER = """\
# Functions of the Swift toolchain that run until a worker has given its first answer; the linker puts them side by side.
# Spread over ten megabytes each would bring its neighbours into memory, sixteen pages at a time (fault-around).
# Names that a toolchain does not have are passed over. Made by at_rest_symbols.py, with Swift 6.3.1.
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


def is_ours(name):
    return any(re.search(rf"(?<!\d){len(module)}{module}", name) for module in _OURS)


def main():
    path, program = sys.argv[1:]
    print(_HEADER + "\n".join(sorted(name for name in ran(path, program) if not is_ours(name))))


if __name__ == "__main__":
    main()

"""Checks of README.md and the manual; deploy/checks/manual says which. Each prints what is wrong, and exits with 1 then."""

import sys

import data
import names
import settings
import shape
import shell

if __name__ == "__main__":
    checks = {
        "shape": shape.faults, "links": shape.broken_links, "settings": settings.faults, "shell": shell.faults,
        "data": data.faults, "names": names.faults,
    }
    faults = checks[sys.argv[1]]()
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)

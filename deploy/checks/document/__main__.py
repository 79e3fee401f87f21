"""Checks of deploy/openapi.yaml; deploy/checks/wire says which. Each prints what is wrong, and exits with 1 then."""

import json
import sys

import agreement
import narrow
import page

if __name__ == "__main__":
    if sys.argv[1] == "write":
        page.write()
        sys.exit()
    if sys.argv[1] == "narrow":
        print(json.dumps(narrow.narrowed()))
        sys.exit()
    checks = {"code": agreement.faults, "examples": agreement.example_faults, "recorded": agreement.recorded_faults, "page": page.faults}
    faults = list(checks[sys.argv[1]]())
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)

"""What operators run: the image and the package, measured by the checks of both."""

import os
import pathlib
import subprocess
import tempfile

from processes import NotMeasured

_CHECKS = pathlib.Path(__file__).parent.parent / "checks"
_LONGEST = 400      # seconds, for one check


def packages(parts):
    """(values, notes): sizes and digests of images, what an upgrade of the package loses, how exposed its units are."""
    if not parts.worker:
        raise NotMeasured("operations: there is no worker")
    values, notes = {}, []
    for check in ("image", "debian"):
        with tempfile.NamedTemporaryFile("r", dir=parts.run) as file:
            environment = {**os.environ, "CLOAKROOM_WORKER": str(parts.worker), "CLOAKROOM_VALUES": file.name}
            try:
                finished = subprocess.run([_CHECKS / check], env=environment, stdout=subprocess.PIPE, text=True, timeout=_LONGEST)
            except subprocess.TimeoutExpired:
                raise NotMeasured(f"operations: deploy/checks/{check} took more than {_LONGEST} s") from None
            for line in file.read().splitlines():
                name, value = line.split()
                try:
                    values[name] = float(value)
                except ValueError:
                    raise NotMeasured(f"operations: {name} is {value}") from None
        failed = [line for line in finished.stdout.splitlines() if line.startswith(("failed: ", "left out: "))]
        notes.append(f"deploy/checks/{check}: {'; '.join(failed) or finished.stdout.splitlines()[-1]}")
    return values, notes

"""What the last run of deploy/mutation came to. It takes long, so its report is kept with the code."""

import json
import pathlib

from processes import NotMeasured

_REPORT = pathlib.Path(__file__).parents[1] / "mutants/report.json"


def survived():
    """The share of mutants that no test noticed, and a note on what was measured."""
    try:
        report = json.loads(_REPORT.read_text())
        return report["survived_share"], (
            f"mutation: {report['survived']} of {report['mutants']} mutants survived, measured at commit "
            f"{report['commit'][:12]} with seed {report['seed']} (deploy/mutation --json {_REPORT.relative_to(_REPORT.parents[2])}).")
    except (OSError, ValueError, KeyError) as error:
        raise NotMeasured(f"{_REPORT}: {error}") from None

"""What deploy/simulation finds in short seeds and of planted faults, what a virtual day costs, and what its last campaign came to."""

import json
import pathlib
import subprocess

from processes import NotMeasured

_SEEDS = "1-20"
_DIFFERENCE = "the same seed does something else"
_LONGEST = 900      # seconds
_REPORT = pathlib.Path(__file__).parents[2] / "Tests/Simulation/report.json"


def measure(folder):
    """({limit: value}, notes)"""
    seeds = _run(folder, "--seeds", _SEEDS, "--twice", "--as-found")
    planted = _run(folder, "--planted")
    differing = [each for each in seeds["findings"] if each["finding"].startswith(_DIFFERENCE)]
    failing = len(seeds["findings"]) - len(differing)
    values = {
        "sim_same_seed_differences": len(differing), "sim_planted_not_found": len(planted["not_found"]),
        "sim_cpu_s_per_virtual_day": seeds["cpu_seconds_per_virtual_day"],
    }
    notes = [f"simulation: seeds {_SEEDS}, each twice, of {seeds['days']} virtual days and {seeds['devices']} devices; "
             f"{len(planted['plants'])} planted faults, each by its saved run, not found: {', '.join(planted['not_found']) or 'none'}."]
    notes += [f"simulation: seed {each['seed']}: {each['finding']}" for each in seeds["findings"]]
    reported, said = _reported(failing)
    return values | reported, notes + said


def _reported(failing):
    """Of the committed report: what a campaign took days for.

    - failing: seeds that failed just now, which count besides.
    """
    try:
        report = json.loads(_REPORT.read_text())
    except (OSError, ValueError) as error:
        raise NotMeasured(f"{_REPORT}: {error}") from None
    values, notes = {"sim_failing_seeds": failing}, []
    campaign = report.get("campaign")
    if campaign:
        values["sim_failing_seeds"] += len(campaign["findings"])
        values["sim_states_never_reached"] = len(campaign["states_never_reached"])
        parts = ", ".join(f"{each['done']} of {each['seeds']} seeds of {each['days']} days and {each['devices']} devices"
                          for each in campaign["parts"])
        notes.append(f"simulation: campaign at commit {campaign['commit'][:12]}{' (modified)' if campaign.get('modified') else ''}: "
                     f"{parts}; {campaign['cpu_seconds']} CPU seconds; never reached: "
                     f"{', '.join(campaign['states_never_reached']) or 'none'} (deploy/simulation --campaign).")
    else:
        notes.append("simulation: sim_states_never_reached is missing: the report has no campaign (deploy/simulation --campaign).")
    models = report.get("models")
    if models:
        values["sim_model_differences_unexplained"] = sum(each["unexplained"] for each in models.values())
        notes += [f"simulation: {name} and its model: {each['operations']} operations, {each['unexplained']} differences unexplained, "
                  f"at commit {each['commit']}." for name, each in models.items()]
    else:
        notes.append("simulation: sim_model_differences_unexplained is missing: the report has no models.")
    return values, notes


def _run(folder, *options):
    file = folder / "simulation.json"
    file.unlink(missing_ok=True)
    said, fault = _command(*options, "--json", str(file))
    if not file.exists():
        raise NotMeasured(f"deploy/simulation: {(fault or said).strip()[-300:]}")
    return json.loads(file.read_text())


def _command(*options):
    """What it prints on standard output and on standard error, whatever it finds."""
    try:
        finished = subprocess.run(["deploy/simulation", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=_LONGEST)
        return finished.stdout, finished.stderr
    except subprocess.TimeoutExpired:
        raise NotMeasured(f"deploy/simulation {' '.join(options)} did not end within {_LONGEST} s") from None

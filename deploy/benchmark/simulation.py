"""What deploy/simulation finds in short seeds and with planted faults, and what a virtual day costs."""

import json
import subprocess

from processes import NotMeasured

_SEEDS = "1-20"
_PLANT_SEEDS = "1-6"
_DIFFERENCE = "the same seed does something else"
_LONGEST = 900      # seconds


def measure(folder):
    """({limit: value}, notes)"""
    seeds = _run(folder, "--seeds", _SEEDS, "--twice")
    plants = _command("--plants")[0].split()
    if not plants:
        raise NotMeasured("deploy/simulation --plants names none")
    found = [plant for plant in plants if _run(folder, "--seeds", _PLANT_SEEDS, "--plant", plant)["findings"]]
    differing = [each for each in seeds["findings"] if each["finding"].startswith(_DIFFERENCE)]
    values = {
        "sim_same_seed_differences": len(differing), "sim_failing_seeds": len(seeds["findings"]) - len(differing),
        "sim_planted_not_found": len(plants) - len(found), "sim_cpu_s_per_virtual_day": seeds["cpu_seconds_per_virtual_day"],
    }
    notes = [f"simulation: seeds {_SEEDS}, each twice, of {seeds['days']} virtual days and {seeds['devices']} devices; each of "
             f"{len(plants)} planted faults in seeds {_PLANT_SEEDS}, found: {', '.join(found) or 'none'}."]
    return values, notes + [f"simulation: seed {each['seed']}: {each['finding']}" for each in seeds["findings"]]


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

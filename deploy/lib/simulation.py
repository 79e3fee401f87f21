"""Runs seeds of the simulation, and tells what became of them. Called by deploy/simulation."""

import argparse
import collections
import json
import os
import pathlib
import re
import sys
import time

import simulation_campaign
import simulation_runs as runs
import simulation_shrink

_REGRESSIONS, _PLANTED = "regressions.txt", "planted.txt"
_SEARCHED = 40      # seeds, for a planted fault


def main():
    options = _options()
    if options.plants:
        print("\n".join(runs.names(options.program, "--plants")))
        return 0
    if options.campaign:
        return simulation_campaign.Campaign(
            options.program, options.parts, options.state / "simulation", options.jobs, options.resume, options.report).run()
    if options.regressions:
        return _regressions(options)
    if options.planted:
        return _planted(options)
    if options.trace:
        return runs.show_trace(options.program, _cases(options)[0])
    return _seeds(options)


def _seeds(options):
    cases = _cases(options)
    done, findings = [], []
    began, used = time.monotonic(), runs.cpu()
    for run in runs.run_all(options.program, cases, options.jobs, options.twice):
        done.append(run)
        if run.finding:
            findings.append(run)
            print(f"seed {run.case.seed}: {run.finding}\n  {run.case} --trace", flush=True)
        elif sys.stdout.isatty():
            print(f"\r{len(done)} of {len(cases)} seeds, {len(findings)} with findings ", end="", flush=True)
    days = len(done) * options.days
    cpu = (runs.cpu() - used) / max(1, days) / (2 if options.twice else 1)
    _summarize(options, done, findings, days, cpu, time.monotonic() - began)
    if options.json:
        options.json.write_text(json.dumps({
            "seeds": list(options.seeds), "days": options.days, "devices": options.devices, "cpu_seconds_per_virtual_day": cpu,
            "findings": [{"seed": each.case.seed, "finding": each.finding} for each in findings],
            "states": dict(sorted(_states(done).items())),
        }, indent=2) + "\n")
    shortable = [run for run in findings if "the same seed does" not in run.finding]
    if shortable and options.shrinks:
        _shrink(options, min(shortable, key=lambda run: (run.case.weight, run.seconds)))
    return 1 if findings else 0


def _shrink(options, run):
    print(f"shortening seed {run.case.seed}", file=sys.stderr, flush=True)
    case, finding = simulation_shrink.Shrinking(
        options.program, run, lambda text: print(text, file=sys.stderr, flush=True)).shortest()
    print(f"the shortest: {case}\n  {finding}")


def _states(done):
    return sum((collections.Counter(each.states) for each in done), collections.Counter())


def _summarize(options, done, findings, days, cpu, seconds):
    slowest = max(done, key=lambda each: each.seconds)
    print(f"{len(done)} seeds, {days} virtual days in {seconds:.0f} s: {len(findings)} with findings; "
          f"{cpu:.2f} CPU seconds a virtual day; the slowest: seed {slowest.case.seed}, {slowest.seconds:.1f} s")
    states = _states(done)
    for name, count in sorted(states.items()):
        print(f"  {name}: {count:,}, in {sum(name in each.states for each in done)} seeds")
    never = [name for name in runs.names(options.program, "--states") if not states[name]]
    print(f"never reached: {', '.join(never) or 'none'}")


def _regressions(options):
    """Faults that were fixed: none may be found again."""
    saved = runs.read_saved(_REGRESSIONS)
    meanings = dict(saved)
    failed = 0
    for run in runs.run_all(options.program, meanings, options.jobs):
        if run.finding:
            failed += 1
            print(f"{meanings[run.case]}: again: {run.finding}\n  {run.case} --trace", flush=True)
    print(f"{len(saved)} regressions, {failed} found again")
    return 1 if failed else 0


def _planted(options):
    """Each planted fault, by its saved run; where that finds nothing any more, by the seeds from 1 on."""
    plants = [line.partition(":")[0] for line in runs.names(options.program, "--plants")]
    saved = {case.plant: case for case, _ in runs.read_saved(_PLANTED)}
    found = {run.case.plant: run for run in runs.run_all(options.program, saved.values(), options.jobs) if run.finding}
    for plant in plants:
        run = found.get(plant) or _search(options, plant)
        if run:
            found[plant] = run
            how = "" if run.case == saved.get(plant) else f", but not by its saved run: {run.case}"
            print(f"{plant} is found{how}: {run.finding}", flush=True)
    missing = [plant for plant in plants if plant not in found]
    for plant in missing:
        print(f"{plant} is not found: deploy/simulation --seeds 1-200 --plant {plant}")
    print(f"{len(plants)} planted faults, {len(missing)} not found")
    if options.json:
        options.json.write_text(json.dumps({"plants": plants, "not_found": missing}, indent=2) + "\n")
    return 1 if missing else 0


def _search(options, plant):
    """The first run of some that finds it; what the world does may have changed since one was saved."""
    cases = [runs.Case(seed, plant=plant) for seed in range(1, _SEARCHED + 1)]
    return next((run for run in runs.run_all(options.program, cases, options.jobs) if run.finding), None)


def _options():
    parser = argparse.ArgumentParser(prog="deploy/simulation", add_help=False, allow_abbrev=False)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--state", required=True, type=pathlib.Path)
    parser.add_argument("--seeds", type=_range, default=(1, 20))
    parser.add_argument("--seed", type=int)
    parser.add_argument("--days", type=int, default=3)
    parser.add_argument("--devices", type=int, default=10)
    parser.add_argument("--without", default="")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--as-found", dest="shrinks", action="store_false")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--plant")
    parser.add_argument("--plants", action="store_true")
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--regressions", action="store_true")
    parser.add_argument("--campaign", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--parts", type=simulation_campaign.read_parts, default=simulation_campaign.PARTS)
    parser.add_argument("--report", type=pathlib.Path, default=simulation_campaign.REPORT)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if options.seed is not None:
        options.seeds = (options.seed, options.seed)
    elif options.trace:
        parser.error("--trace shows one seed: --seed N")
    if options.resume and not options.campaign:
        parser.error("--resume goes on with a campaign: --campaign --resume")
    if min(options.days, options.devices, options.jobs) < 1:
        parser.error("--days, --devices and --jobs are at least 1")
    return options


def _range(text):
    match = re.fullmatch(r"(\d+)-(\d+)", text)
    if not match or int(match[1]) > int(match[2]):
        raise argparse.ArgumentTypeError("such as 1-2000")
    return int(match[1]), int(match[2])


def _cases(options):
    first, last = options.seeds
    without = tuple(options.without.split(",")) if options.without else ()
    return [runs.Case(seed, options.days, options.devices, without, options.plant) for seed in range(first, last + 1)]


sys.exit(main())

"""A campaign of the simulation over days of work: each run is recorded when it ends, so that the next call goes on."""

import collections
import dataclasses
import json
import subprocess
import time

import simulation_runs as runs
import simulation_shrink

REPORT = runs.SOURCES / "report.json"
PARTS = "short:2000x3x10,long:40x60x10,year:1x365x200"


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    seeds: int
    days: int
    devices: int

    def cases(self):
        return [runs.Case(seed, self.days, self.devices) for seed in range(1, self.seeds + 1)]


def read_parts(text):
    """NAME:SEEDSxDAYSxDEVICES, with commas between."""
    parts = []
    for each in text.split(","):
        name, _, numbers = each.partition(":")
        seeds, days, devices = (int(number) for number in numbers.split("x"))
        parts.append(Part(name, seeds, days, devices))
    return parts


class Campaign:
    def __init__(self, program, parts, folder, jobs, is_resumed, report=REPORT):
        self.program = program
        self.parts = parts
        self.jobs = jobs
        self.report = report
        self.file = folder / "campaign.jsonl"
        self.commit = _git("rev-parse", "HEAD")
        self.done = {}
        folder.mkdir(parents=True, exist_ok=True)
        if is_resumed and self.file.exists():
            self._read()
        else:
            self.file.write_text(json.dumps({"commit": self.commit, "modified": _is_modified()}) + "\n")

    def run(self):
        """0 where nothing was found, else 1; the report is written whenever a part has ended, and at an interruption."""
        try:
            for part in self.parts:
                self._run(part)
                self._write_report()
        except KeyboardInterrupt:
            print("\ninterrupted; --campaign --resume goes on", flush=True)
        self._write_report()
        findings = [record for record in self.done.values() if record["finding"]]
        print(f"{len(self.done)} runs, {len(findings)} with findings; states never reached: "
              f"{', '.join(self._never_reached()) or 'none'}")
        return 1 if findings else 0

    def _read(self):
        head, *lines = self.file.read_text().splitlines()
        if json.loads(head)["commit"] != self.commit:
            raise SystemExit(f"the campaign in {self.file} is of commit {json.loads(head)['commit'][:12]}: check that out, or "
                             "begin anew without --resume")
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:      # The last one, when the machine went down.
                continue
            self.done[(record["part"], record["seed"])] = record

    def _run(self, part):
        cases = [case for case in part.cases() if (part.name, case.seed) not in self.done]
        began, used = time.monotonic(), runs.cpu()
        for number, run in enumerate(runs.run_all(self.program, cases, self.jobs), 1):
            seconds, used = runs.cpu() - used, runs.cpu()
            record = {"part": part.name, "seed": run.case.seed, "finding": run.finding, "command": str(run.case),
                      "states": run.states, "cpu_seconds": round(seconds, 2)}
            if run.finding:
                self._shorten(run, record)
                used = runs.cpu()
            self._record(part, record)
            self._show(part, number, len(cases), time.monotonic() - began)

    def _shorten(self, run, record):
        print(f"\nseed {run.case.seed}: {run.finding}\n  {run.case} --trace", flush=True)
        known = {simulation_shrink.kind(each["finding"]) for each in self.done.values() if each["finding"]}
        if simulation_shrink.kind(run.finding) in known:
            return
        case, _ = simulation_shrink.Shrinking(self.program, run).shortest()
        record["command"] = str(case)
        print(f"  the shortest: {case}", flush=True)

    def _record(self, part, record):
        self.done[(part.name, record["seed"])] = record
        with self.file.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def _show(self, part, number, count, seconds):
        rest = seconds / number * (count - number)
        later = sum(each.days * each.devices * each.seeds for each in self.parts[self.parts.index(part) + 1:])
        rest += seconds / (number * part.days * part.devices) * later
        print(f"{part.name}: {part.seeds - count + number} of {part.seeds} seeds, {number} in this call; about "
              f"{_duration(rest)} left of the campaign", flush=True)

    def _states(self):
        return sum((collections.Counter(record["states"]) for record in self.done.values()), collections.Counter())

    def _never_reached(self):
        states = self._states()
        return [name for name in runs.names(self.program, "--states") if not states[name]]

    def _write_report(self):
        """Beside what others keep in that file."""
        report = json.loads(self.report.read_text()) if self.report.exists() else {}
        days = {part.name: part.days for part in self.parts}
        report["commit"] = self.commit
        report["campaign"] = {
            "commit": self.commit, "modified": json.loads(self.file.read_text().splitlines()[0])["modified"],
            "parts": [{**dataclasses.asdict(part), "done": sum(name == part.name for name, _ in self.done)} for part in self.parts],
            "findings": [{"seed": record["seed"], "part": record["part"], "finding": record["finding"], "command": record["command"]}
                         for record in self.done.values() if record["finding"]],
            "states": dict(sorted(self._states().items())), "states_never_reached": self._never_reached(),
            "virtual_days": sum(days.get(name, 0) for name, _ in self.done),
            "cpu_seconds": round(sum(record["cpu_seconds"] for record in self.done.values())),
        }
        self.report.write_text(json.dumps(report, indent=2) + "\n")


def _git(*words):
    return subprocess.run(["git", *words], cwd=runs.SOURCES, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def _is_modified():
    return bool(_git("status", "--porcelain", "--", ":/Sources", ":/Tests", ":/Package.swift", ":!/Tests/Simulation/report.json"))


def _duration(seconds):
    hours, minutes = int(seconds // 3600), int(seconds % 3600 // 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {int(seconds % 60)} s"

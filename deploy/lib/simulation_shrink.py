"""Shortens a run of the simulation that finds something, until nothing more can go."""

import dataclasses
import re
import time

import simulation_runs as runs

_ATTEMPTS = 150
_SECONDS = 900


class Shrinking:
    def __init__(self, program, first, say=lambda text: None, attempts=_ATTEMPTS, seconds=_SECONDS):
        self.program = program
        self.case, self.finding = first.case, first.finding
        self.kind = kind(first.finding)
        self.say = say
        self.left = attempts
        self.end = time.monotonic() + seconds
        self.faults = runs.names(program, "--faults")

    def shortest(self):
        """The shortest case with the same kind of finding, and that finding."""
        before = None
        while before != self.case and not self._is_over():
            before = self.case
            self._cut_days()
            self._leave_out_faults()
            self._leave_out([f"d_{number}" for number in range(self.case.devices)])
            self._have_fewer_devices()
        return self.case, self.finding

    def _cut_days(self):
        found = re.match(r"day (\d+) ", self.finding)
        for days in (int(found[1]) + 1 if found else self.case.days, 1, self.case.days // 2, self.case.days - 1):
            if 0 < days < self.case.days:
                self._try(dataclasses.replace(self.case, days=days))

    def _leave_out_faults(self):
        devices = tuple(name for name in self.case.without if name.startswith("d_"))
        if "faults" not in self.case.without and not self._try(dataclasses.replace(self.case, without=("faults", *devices))):
            self._leave_out(self.faults)

    def _leave_out(self, names):
        """Half of them, then a quarter, at last one alone, as long as the run still finds the same."""
        size = len(names)
        while size >= 1:
            present = [name for name in names if name not in self.case.without]
            for start in range(0, len(present), size):
                self._try(dataclasses.replace(self.case, without=(*self.case.without, *present[start:start + size])))
            size //= 2

    def _have_fewer_devices(self):
        """Users are another's then, so this may find nothing."""
        present = [number for number in range(self.case.devices) if f"d_{number}" not in self.case.without]
        for count in sorted({len(present), max(present, default=0) + 1}):
            if 0 < count < self.case.devices:
                kept = tuple(name for name in self.case.without if not name.startswith("d_") or int(name[2:]) < count)
                for without in {kept, tuple(name for name in kept if not name.startswith("d_"))}:
                    if self._try(dataclasses.replace(self.case, devices=count, without=without)):
                        return

    def _try(self, case):
        if self._is_over():
            return False
        self.left -= 1
        found = runs.run(self.program, case).finding
        if not found or kind(found) != self.kind:
            return False
        self.case, self.finding = case, found
        self.say(f"shorter, {self.left} attempts left: {case}")
        return True

    def _is_over(self):
        return self.left <= 0 or time.monotonic() >= self.end


def kind(finding):
    """What two findings have in common that differ in times, names and numbers alone."""
    text = re.sub(r"^day \d+ [\d:.]+: ", "", finding)
    return re.sub(r"\S*[\d/_]\S*", "…", text)[:120]

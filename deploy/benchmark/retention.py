"""Messages that end: purges beside plain SQL, keys, remnants on the disk, the model's schedules, and released images."""

import dataclasses
import os
import shutil
import statistics
import subprocess

import chats
from processes import NotMeasured

_LONGEST = 240              # seconds, of one scenario
_LONGEST_MODEL = 400
_CONVERSATIONS = 100        # of the messages that are purged
_BODY_BYTES = 100


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is measured."""
    messages: int
    due: int                # of them, the oldest
    few: int                # what looking for the next deadline is compared with
    calls: int              # for the next deadline, in a round
    key_conversations: int
    rounds: int
    insert_rounds: int
    insert_batches: int     # of 100 messages, in a round
    seeds: int
    life_rounds: int
    schedules: int
    idle_seconds: int
    with_stores: bool       # whether images are released on Ceph


FULL = Size(1_000_000, 100_000, 10_000, 200, 1000, 5, 40, 10, 20, 12, 10_000, 15, True)
QUICK = Size(200_000, 20_000, 2000, 100, 1000, 3, 10, 10, 20, 12, 2000, 8, True)
# So that every step is run, and nothing is measured.
SMOKE = Size(2000, 200, 20, 5, 10, 1, 2, 2, 2, 12, 20, 1, False)


class Retention:
    """The values of the limits, and what is behind them."""

    def __init__(self, parts, size):
        if not parts.message_bench or not parts.message_model:
            raise NotMeasured("retention: there is no message-bench or no message-model")
        self._parts = parts
        self._size = size
        self._fill = {"count": size.messages, "conversations": _CONVERSATIONS, "bytes": _BODY_BYTES}
        self.place = parts.run / "retention"
        self.place.mkdir()
        self.values = {}
        self.notes = []

    def fill(self):
        self._bench("fill", "full", **self._fill)

    def deadlines(self):
        (self.place / "few").mkdir()
        found = self._bench("deadline", "full", other=self.place / "few", few=self._size.few, calls=self._size.calls,
                            rounds=self._size.rounds * 5, **self._fill)
        self.values["next_deadline_1000000_over_10000"] = found["ratio"]
        self.notes.append(f"retention: the next deadline of {self._size.messages:,} messages is found in {found['us']:.0f} "
                          f"µs of CPU, of {self._size.few:,} in {found['us_other']:.0f}.")
        shutil.rmtree(self.place / "few")

    def purges(self):
        """The same messages purged and plainly deleted, each from a copy, in turns."""
        size, rounds = self._size, []
        for number in range(size.rounds):
            pair = {}
            for scenario in ("purge", "delete") if number % 2 == 0 else ("delete", "purge"):
                pair[scenario] = self._of_copy(scenario, due=size.due)
            rounds.append(pair)
        ratios = [pair["purge"]["cpu_ms"] / pair["delete"]["cpu_ms"] for pair in rounds]
        ours, theirs = ([pair[scenario] for pair in rounds] for scenario in ("purge", "delete"))
        self.values |= {
            "purge_100000_of_1000000_over_delete": statistics.median(ratios),
            "purge_extra_rss_mb": max(each["extra_mb"] for each in ours),
            "tombstone_bytes_each": max(each["tombstone_bytes"] for each in ours),
        }
        def told(usages):
            cpu, seconds = (statistics.median(each[key] for each in usages) for key in ("cpu_ms", "seconds"))
            return f"{cpu / 1000:.2f} s of CPU, {seconds:.2f} s"
        self.notes.append(
            f"retention: {size.due:,} of {size.messages:,} messages are purged in {told(ours)}; one DELETE of the same rows "
            f"and an empty log take {told(theirs)}. Ratios of {len(ratios)} pairs: {min(ratios):.2f} to {max(ratios):.2f}.")

    def locks(self):
        waits = [self._of_copy("purge", due=self._size.due, writer="yes") for _ in range(self._size.rounds)]
        longest = [each["longest_wait_ms"] for each in waits]
        self.values["purge_longest_lock_ms"] = statistics.median(longest)
        self.notes.append(f"retention: of {waits[0]['writes']:,.0f} writes during a purge the longest waited "
                          f"{statistics.median(longest):.1f} ms, the median of {len(longest)} purges; at most "
                          f"{max(longest):.1f}.")
        shutil.rmtree(self.place / "full")

    def keys(self):
        keys = self._bench("keys", "keys", conversations=self._size.key_conversations)
        self.values["purge_key_bytes_at_1000_conversations"] = keys["bytes"]
        self.notes.append(f"retention: beside the keys {keys['reserve']:,.0f} bytes are kept free for the next rotation.")
        shutil.rmtree(self.place / "keys")

    def inserts(self):
        found = self._bench("insert", "insert", rounds=self._size.insert_rounds, batches=self._size.insert_batches)
        self.values["insert_sealed_over_plain"] = found["ratio"]
        self.notes.append(f"retention: a message is admitted in {found['us']:.1f} µs of CPU, its row inserted by plain SQL "
                          f"in {found['us_other']:.1f}.")
        shutil.rmtree(self.place / "insert")

    def remnants(self):
        found = {"purged": 0, "bodies": 0, "unsealed": 0, "unrotated": 0}
        for seed in range(1, self._size.seeds + 1):
            life = self._bench("remnants", f"life-{seed}", seed=seed, rounds=self._size.life_rounds)
            for name in found:
                found[name] += int(life[name])
            shutil.rmtree(self.place / f"life-{seed}")
        if not found["unsealed"] or not found["unrotated"]:
            raise NotMeasured(f"retention: a control finds no body, so that nothing is known of the others: {found}")
        self.values["remnant_bodies"] = found["bodies"]
        self.notes.append(f"retention: after {found['purged']:,} purged messages of {self._size.seeds} seeds, keys and vault "
                          f"open {found['bodies']} bodies in any file; {found['unsealed']} could be read if none were "
                          f"sealed, and {found['unrotated']} if no key were dropped.")

    def model(self):
        half = self._size.schedules // 2
        runs = [self._parts.start(f"message-model-{seed}", [self._parts.message_model, "--measure", "--schedules", half,
                                                            "--seed", seed]) for seed in (1, 1_000_001)]
        told = [self._numbers(each, _LONGEST_MODEL) for each in runs]
        def total(name):
            return sum(each[name] for each in told)
        self.values |= {
            "retention_divergent_schedules": total("divergent"), "purged_early": total("early"),
            "purge_missed": total("missed"), "purged_late_max_s_over_width": max(each["late_seconds"] for each in told),
        }
        if total("failed") and not (total("divergent") or total("early") or total("missed")):
            raise NotMeasured(f"retention: {total('failed'):.0f} schedules failed otherwise: see message-model --seed 1")
        self.notes.append(f"retention: {total('schedules'):,.0f} schedules of five devices.")

    def idle(self):
        idle = self._bench("idle", "idle", seconds=self._size.idle_seconds)
        self.values["retention_idle_wakeups"] = idle["wakeups"]

    def images(self):
        if not self._size.with_stores:
            self.notes.append("retention: released images are left out: Ceph takes half a minute to start.")
            return
        left = chats.readable_after_release(self._parts)
        self.values["released_readable_on_ceph"] = sum(left.values())
        self.notes.append("retention: released images that can still be read on Ceph: "
                          + ", ".join(f"{count} with {mode}" for mode, count in left.items()) + ".")

    def _of_copy(self, scenario, **values):
        copy = self.place / "copy"
        subprocess.run(["cp", "-r", "--reflink=auto", self.place / "full", copy], check=True, timeout=_LONGEST)
        # What is still to be written of the copy is not to be measured.
        os.sync()
        try:
            return self._bench(scenario, "copy", **self._fill, **values)
        finally:
            shutil.rmtree(copy)

    def _bench(self, scenario, folder, **values):
        """The numbers that message-bench writes, by their names."""
        folder = self.place / folder
        folder.mkdir(exist_ok=True)
        process = self._parts.start(f"message-{scenario}-{folder.name}", [
            self._parts.message_bench, scenario, folder, *(f"{key}={value}" for key, value in values.items())])
        return self._numbers(process, _LONGEST)

    def _numbers(self, process, longest):
        try:
            code = process.wait(longest)
        except subprocess.TimeoutExpired:
            raise NotMeasured(f"{process.name}: not done after {longest} s") from None
        if code != 0:
            raise NotMeasured(f"{process.name} failed: {process.last_words()}")
        return {key: float(value) for key, value in (line.split() for line in process.log.read_text().splitlines())}

"""Photos in tiers: a year of them uploaded and removed from the device beside rclone's copy of the same objects, on a
store of deploy/run; and what needs no store, on a bucket in memory."""

import dataclasses
import shutil
import subprocess

from backups import Store
from processes import NotMeasured

_LONGEST = 240              # seconds, of one scenario
_CHANGES = 3                # of a photo's state on its way: uploading, evicting, cold
_THUMBNAIL_BYTES = 6000     # as tier-bench makes them


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is measured."""
    photos: int             # of a year: 30 a day
    few: int                # what the year is compared with, and what is counted
    photo_bytes: int
    opens: int              # of photos that are on the device
    cold: int               # of photos that are not
    thumbnails: int
    rounds: int
    daily: int              # new photos on each of 30 days
    rows: int               # of a catalog that is made anew
    blobs: int              # of the table that photos come from

    @property
    def hot(self):
        return min(self.opens, 500)


FULL = Size(10_800, 1000, 150_000, 10_000, 300, 10_000, 9, 30, 100_000, 2400)
QUICK = Size(2700, 500, 150_000, 5000, 100, 10_000, 5, 30, 20_000, 1200)
# So that every step is run, and nothing is measured.
SMOKE = Size(24, 12, 20_000, 20, 4, 60, 1, 1, 1200, 24)


class Tiers:
    """The values of the limits, and what is behind them."""

    def __init__(self, parts, size):
        if not parts.tier_bench:
            raise NotMeasured("tiers: there is no tier-bench")
        self._parts = parts
        self._size = size
        self.place = parts.run / "tiers"
        self.place.mkdir()
        self.values = {}
        self.notes = []

    def a_year(self):
        self._on_a_store(self._a_year)

    def transfers(self):
        # Before the year: after tens of thousands of files were deleted there, it took ext4 up to 1.1 ms instead of 0.03
        # to make one file.
        self._on_a_store(self._cold, self._counted)

    def _on_a_store(self, *steps):
        """One that is empty: it has room for a year twice, and for little more."""
        self._store = Store(self._parts)
        try:
            for step in steps:
                step()
        finally:
            self._store.stop()

    def _a_year(self):
        size = self._size
        few = self._tiered("few", size.few)
        folder, account = self._filled("year", size.photos)
        stored = folder / "store"
        before = _allocated(stored / "photos")
        # The same objects: what the store has, and the thumbnails, which were made when the photos were added.
        theirs = self._store.rclone("photos/tiers_rclone", folder, "--filter", "+ /store/photos/**", "--filter",
                                    "+ /thumbnails/**", "--filter", "- *", longest=_LONGEST)
        ours = self._bench("run", folder, **account)
        left = _allocated(stored) - size.photos * _THUMBNAIL_BYTES
        self.values |= {
            "tier_kept_over_evicted_bytes": max(0, left) / before,
            "tier_due_not_evicted": max(size.photos - ours["evicted"], len(list((stored / "photos").iterdir()))),
            "tier_10800_rss_mb": ours["peak_mb"],
            "tier_10800_rss_over_1000": ours["peak_mb"] / few["peak_mb"],
            "tier_time_over_rclone_copy": ours["seconds"] / theirs.seconds,
            "tier_requests_per_photo": ours["requests"] / size.photos,
        }
        self.notes.append(
            f"tiers: {size.photos:,} photos of {size.photo_bytes // 1000} KB: {ours['seconds']:.1f} s, "
            f"{ours['requests']:,.0f} requests, {ours['peak_mb']:.1f} MB; of {size.few:,}: {few['seconds']:.1f} s, "
            f"{few['peak_mb']:.1f} MB. rclone: {theirs.seconds:.1f} s, {theirs.megabytes:.0f} MB.")
        shutil.rmtree(folder)
        shutil.rmtree(self.place / "few")

    def _tiered(self, name, count):
        folder, account = self._filled(name, count)
        return self._bench("run", folder, **account)

    def _filled(self, name, count, days=31, upload="due"):
        """A store with photos that are so many days old: (folder, values for further runs)."""
        folder = self.place / name
        folder.mkdir()
        account = self._account(name)
        self._bench("fill", folder, count=count, bytes=self._size.photo_bytes, days=days, upload=upload, **account)
        return folder, account

    def _account(self, name):
        """What tier-bench needs to know of the store, and of a user of it."""
        user, token = f"tiers_{name}", self.place / name / "token"
        self._store.make_token(user, token)
        return {"worker": self._store.values["URL"], "s3": self._store.values["S3"], "user": user, "token": token}

    def _counted(self):
        """Requests of photos that are uploaded when they are added, and what SQLite writes."""
        size = self._size
        folder, account = self._filled("added", size.few, days=31, upload="added")
        uploaded = self._bench("run", folder, days=-31, **account)
        evicted = self._bench("run", folder, **account)
        if uploaded["uploaded"] != size.few or uploaded["evicted"] or evicted["evicted"] != size.few:
            raise NotMeasured(f"tiers: uploaded {uploaded['uploaded']:.0f} and evicted {evicted['evicted']:.0f} of "
                              f"{size.few} photos, in two runs")
        self.values["tier_requests_per_photo_when_added"] = (uploaded["requests"] + evicted["requests"]) / size.few
        folder, account = self._filled("written", size.few)
        written = self._bench("run", folder, writes="yes", **account)
        self.values["tier_wal_bytes_per_change"] = written["wal_bytes"] / (size.few * _CHANGES)

    def _cold(self):
        """Of the photos that another device has uploaded."""
        size = self._size
        folder, account = self._filled("first", size.cold + 1, days=0, upload="added")
        uploaded = self._bench("run", folder, **account)
        if uploaded["uploaded"] != size.cold + 1 or uploaded["evicted"]:
            raise NotMeasured(f"tiers: uploaded {uploaded['uploaded']:.0f} of {size.cold + 1} photos")
        folder = self.place / "second"
        folder.mkdir()
        self._bench("join", folder, **account)
        cold = self._bench("cold", folder, first=0, count=size.cold, bytes=size.photo_bytes, **account)
        callers = self._bench("callers", folder, first=size.cold, **account)
        self.values |= {"tier_cold_open_p50_over_get": cold["p50_ratio"], "tier_gets_of_100_callers": callers["gets"]}
        self.notes.append(f"tiers: a cold photo is open after {cold['p50_ms']:.2f} ms, a plain GET takes "
                          f"{cold['p50_other_ms']:.2f} ms.")

    def hot(self):
        hot = self._bench("hot", count=self._size.hot, bytes=self._size.photo_bytes, opens=self._size.opens)
        self.values |= {"tier_hot_open_p50_over_file": hot["p50_ratio"], "tier_hot_open_p99_over_file": hot["p99_ratio"]}
        self.notes.append(
            f"tiers: opening and reading a hot photo takes {hot['p50_ms'] * 1000:.0f} µs, p99 {hot['p99_ms'] * 1000:.0f}; "
            f"its file alone {hot['p50_other_ms'] * 1000:.0f} µs, p99 {hot['p99_other_ms'] * 1000:.0f}.")

    def thumbnails(self):
        read = self._bench("thumbnails", count=self._size.thumbnails, rounds=self._size.rounds)
        self.values["tier_thumbnails_over_files"] = read["p50_ratio"]
        self.notes.append(f"tiers: {self._size.thumbnails:,} thumbnails: {read['p50_ms']:.0f} ms, as files "
                          f"{read['p50_other_ms']:.0f} ms.")

    def snapshots(self):
        told = self._bench("snapshots", count=self._size.photos, daily=self._size.daily)
        self.values["tier_snapshot_bytes_over_changed"] = told["ratio"]
        self.notes.append(f"tiers: a snapshot has {told['bytes_per_photo']:.0f} bytes a photo.")

    def rebuild(self):
        made = self._bench("rebuild", count=self._size.rows)
        if made["originals"]:
            raise NotMeasured(f"tiers: making a catalog anew read {made['originals']:.0f} originals")
        self.values["tier_rebuild_requests_over_listing"] = made["ratio"]
        self.notes.append(f"tiers: {self._size.rows:,} rows are made anew in {made['seconds']:.1f} s, from "
                          f"{made['documents']:.0f} documents, with {made['growth_mb']:.0f} MB more memory.")

    def idle(self):
        idle = self._bench("idle", count=self._size.few)
        self.values |= {"tier_idle_requests": idle["requests"], "tier_idle_writes": idle["writes"]}

    def migration(self):
        moved = self._bench("migration", count=self._size.blobs, bytes=self._size.photo_bytes)
        self.values["tier_migration_extra_disk_mb"] = moved["extra_mb"]
        self.notes.append(f"tiers: {moved['moved']:,.0f} photos left the table in {moved['seconds']:.1f} s.")

    def _bench(self, scenario, folder=None, **values):
        """The numbers that tier-bench writes, by their names."""
        if folder is None:
            folder = self.place / scenario
            folder.mkdir()
        name = f"tier-{scenario}-{folder.name}"
        process = self._parts.start(name, [self._parts.tier_bench, scenario, folder,
                                           *(f"{key}={value}" for key, value in values.items())])
        try:
            code = process.wait(_LONGEST)
        except subprocess.TimeoutExpired:
            raise NotMeasured(f"{name}: not done after {_LONGEST} s") from None
        if code != 0:
            raise NotMeasured(f"{name} failed: {process.last_words()}")
        return {key: float(value) for key, value in (line.split() for line in process.log.read_text().splitlines())}


def _allocated(folder):
    """Bytes of the disk that the files below have."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())

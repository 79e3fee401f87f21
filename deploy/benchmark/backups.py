"""Backups of many files beside rclone's, on a store of their own: SeaweedFS, with the worker that vends for it."""

import os
import shlex
import subprocess
import tempfile
import time

from processes import NotMeasured, memory_megabytes, wait_until

_FILES = 2_000
_QUEUED = 1_000
_FILE_BYTES = 100_000
_TRANSFERS = 16
_LARGE_BYTES = 2 << 30
_LONGEST = 120                  # seconds, of one copy


class Usage:
    """What one process used until it ended."""

    def __init__(self, name, arguments, environment, longest=_LONGEST):
        # rclone 1.60 refuses to run where this one is set.
        inherited = {key: value for key, value in os.environ.items() if key != "AWS_CA_BUNDLE"}
        with tempfile.TemporaryFile() as output:
            began = time.perf_counter()
            process = subprocess.Popen([str(each) for each in arguments], stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, env={**inherited, **environment})
            self.megabytes = 0.0
            used = self._watch(process, began, longest)
            self.seconds = time.perf_counter() - began
            output.seek(0)
            said = output.read().decode(errors="replace")
        self.cpu = used.ru_utime + used.ru_stime
        if process.returncode != 0:
            raise NotMeasured(f"{name} ended with {process.returncode}: {said.strip()[-300:]}")

    def _watch(self, process, began, longest):
        """What the kernel counts when it has ended. Its memory is looked at meanwhile: `ru_maxrss` would begin with
        what this process had when it forked."""
        while True:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                return used
            try:
                self.megabytes = max(self.megabytes, memory_megabytes(process.pid, "VmHWM"))
            except NotMeasured:
                pass    # It has ended just now.
            if time.perf_counter() - began > longest:
                process.kill()
            time.sleep(0.01)


class Store:
    """The stack of deploy/run, with an empty bucket."""

    def __init__(self, parts):
        self.state = parts.run / "stack"
        self._sample_state = parts.run / "samples"
        environment = {"CLOAKROOM_STATE": str(self.state), "CLOAKROOM_WORKER": parts.worker}
        self._stack = parts.start("backup-stack", ["deploy/run", "--no-demo"], environment)
        written = self.state / "stack.env"
        # The secret is its last line.
        wait_until(lambda: written.exists() and "BROKER_SECRET=" in written.read_text(), self._stack, 60)
        self.values = dict(each.split("=", 1) for line in written.read_text().splitlines() for each in shlex.split(line))

    def stop(self):
        self._stack.stop()

    def backup(self, sample, user, folder):
        """The sample, signed in beforehand, to the user's fresh prefix."""
        return Usage("the sample", [sample, "backup", "--state", self._signed_in(sample, user), folder], {})

    def outbox(self, sample, user, photos):
        """The same by the sample's queue: (what it takes to add the photos, to send them)."""
        state = self._signed_in(sample, user)
        added = Usage("adding to the outbox", [sample, "outbox", "add", "--state", state, *photos], {})
        return added, Usage("the outbox", [sample, "outbox", "run", "--state", state], {})

    def _signed_in(self, sample, user):
        """The folder of the sample's records."""
        state = self._sample_state / user
        state.mkdir(parents=True)
        token = state / "token"
        self.make_token(user, token)
        Usage("signing in", [sample, "sign-in", "--state", state, "--endpoint", self.values["URL"], "--s3-endpoint",
                             self.values["S3"], "--user", user, "--token-file", token], {})
        return state

    def make_token(self, user, path):
        """A token of the user, in a file."""
        with open(path, "wb") as file:
            subprocess.run([self.values["CLOAKROOM"], "token", "mint", "--user", user, "--device", user,
                            self.values["SETTINGS"]], stdout=file, check=True, timeout=10)

    def rclone(self, prefix, folder, *options, longest=_LONGEST):
        """rclone with its defaults, but for how many files are under way, and for what the options say."""
        values = {"TYPE": "s3", "PROVIDER": "Other", "ENDPOINT": self.values["S3"], "REGION": self.values["REGION"],
                  "ACCESS_KEY_ID": self.values["BROKER_ID"], "SECRET_ACCESS_KEY": self.values["BROKER_SECRET"],
                  "NO_CHECK_BUCKET": "true"}
        environment = {f"RCLONE_CONFIG_STORE_{name}": value for name, value in values.items()}
        return Usage("rclone", ["rclone", "--config", "/dev/null", "copy", "--transfers", _TRANSFERS, *options, folder,
                                f"store:{self.values['BUCKET']}/{prefix}"], environment, longest)


def beside_rclone(parts, rounds):
    """In turns, each to a fresh prefix. Gives (the sample's usages, rclone's, the sample's of one large file, of its
    outbox with 1,000 of the photos, of a backup of the same)."""
    if not parts.sample:
        raise NotMeasured("backup: there is no sample")
    photos, film = parts.run / "photos", parts.run / "film"
    photos.mkdir()
    for number in range(_FILES):
        (photos / f"{number}.jpg").write_bytes(os.urandom(_FILE_BYTES))
    film.mkdir()
    with open(film / "film.mov", "wb") as file:
        file.truncate(_LARGE_BYTES)
    store = Store(parts)
    try:
        ours, theirs = [], []
        def rclone(number):
            theirs.append(store.rclone(f"photos/rclone_{number}", photos))

        def sample(number):
            ours.append(store.backup(parts.sample, f"bench_{number}", photos))

        for number in range(rounds):
            for run in (rclone, sample) if number % 2 == 0 else (sample, rclone):
                run(number)
        return (ours, theirs, store.backup(parts.sample, "bench_film", film),
                *_outbox_beside_backup(parts, store, photos, rounds))
    finally:
        store.stop()


def _outbox_beside_backup(parts, store, photos, rounds):
    """In turns. Gives (usages of adding and sending, usages of the backup)."""
    some = parts.run / "queued"
    some.mkdir()
    files = sorted(photos.iterdir())[:_QUEUED]
    for each in files:
        os.link(each, some / each.name)
    queued, direct = [], []
    for number in range(rounds):
        runs = [lambda: queued.append(store.outbox(parts.sample, f"queued_{number}", files)),
                lambda: direct.append(store.backup(parts.sample, f"direct_{number}", some))]
        for run in runs if number % 2 == 0 else reversed(runs):
            run()
    return queued, direct


def outbox_note(queued, direct):
    """The numbers behind the limit, in a sentence."""
    return (f"outbox: {_QUEUED:,} photos were added in {min(added.seconds for added, _ in queued):.2f} s, each on the disk "
            f"when that returns, and sent in {min(run.seconds for _, run in queued):.2f} s with "
            f"{min(run.cpu for _, run in queued):.2f} s of CPU; their backup took "
            f"{min(each.seconds for each in direct):.2f} s with {min(each.cpu for each in direct):.2f} s of CPU.")


def note(ours, theirs, large):
    """The numbers behind the limits, in a sentence."""
    def told(usages):
        best = min(usages, key=lambda each: each.seconds)
        return f"{best.seconds:.2f} s, {min(each.cpu for each in usages):.2f} s of CPU, {best.megabytes:.0f} MB"
    return (f"backup: {_FILES:,} files of {_FILE_BYTES // 1000} KB: {told(ours)}; rclone {told(theirs)}. One file of "
            f"{_LARGE_BYTES >> 30} GiB: {large.seconds:.2f} s, {large.cpu:.2f} s of CPU, {large.megabytes:.0f} MB.")

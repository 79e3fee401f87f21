"""Thousands of clients at once whose requests all wait for STS: what the worker has in memory then, and a minute later."""

import collections
import concurrent.futures
import pathlib
import re
import resource
import statistics
import time

import canned
import load
from processes import NotMeasured, cpu_by_thread, memory_megabytes
from scenarios import Scenario, has_credentials, vend

SMALL, LARGE = 1000, 10_000
_LONGEST_WAVE_SECONDS = 12      # the upstream waits ten for all
_TIMEOUT = 30                   # seconds of a client: longer than that, and what the answers to all take then
_CALM_SECONDS = 60
_LEAST_ROUND_SECONDS = 3
_OTHER_FILES = 200              # of a process, beside two for each request: the client's and the upstream's


class _Crowd:
    """A worker of its own, behind an nginx of its own."""

    def __init__(self, parts, upstream, clients):
        self.clients = clients
        name = f"clients_{clients}"
        # Time limits are long: it is the room for all that is measured, on a machine that does four processes' work.
        self.worker = parts.start_worker(name, upstream, credential_cache=False, slowed=True)
        self.port, self.front_log = parts.start_front_of_crowd(name)
        scenario = Scenario(name, "", [vend(f"u_{n}", f"device_{n}") for n in range(clients)], has_credentials)
        self.requests = scenario.write(parts.run)
        scenario.check(self.port)
        self.rest = memory_megabytes(self.worker.pid)
        self.kinds = collections.Counter()

    def wave(self, upstream):
        """How many requests the upstream had at once when it waited for all."""
        canned.reset_slow(upstream)
        canned.ask_slow(upstream, f"hold/{self.clients}")
        self._load(_LONGEST_WAVE_SECONDS)
        return canned.ask_slow(upstream)["peak"]

    def round(self, upstream, seconds):
        """Microseconds of the worker's CPU for a request, while all clients are there.

        wrk counts what was answered. With thousands under way at both ends of a short round that is not what was worked
        on, so the calls of STS are counted, after each client has had one.
        """
        self._settle()
        canned.reset_slow(upstream)
        seconds = max(_LEAST_ROUND_SECONDS, seconds)
        ramp = 2 + self.clients // 1000     # seconds until all clients are there, at most
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            running = executor.submit(self._load, ramp + seconds)
            deadline, begun = time.monotonic() + ramp, 0
            while begun < self.clients:
                if time.monotonic() > deadline:
                    raise NotMeasured(f"clients: {begun:,} requests of {self.clients:,} clients began in {ramp} s")
                time.sleep(0.1)
                begun += canned.ask_slow(upstream)["posts"]
            canned.ask_slow(upstream)
            before = self._cpu()
            time.sleep(seconds)
            spent, calls = self._cpu() - before, canned.ask_slow(upstream)["posts"]
            running.result()
        return spent / 1e3 / calls

    def errors(self):
        return self.kinds.total()

    def reasons(self):
        """What nginx says of the errors: {sentence: how often}."""
        text = re.sub(r"unix:\S+", "the socket", self.front_log.read_text(errors="replace"))
        return collections.Counter(re.findall(r"\[error\] [^*]*\*\d+ (.*?) while ", text))

    def _load(self, seconds):
        self.kinds.update(load.run(self.port, self.requests, self.clients, seconds, _TIMEOUT)["kinds"])

    def _cpu(self):
        return sum(cpu_by_thread(self.worker.pid).values())

    def _settle(self, longest=20):
        """Until the worker has nothing left of an earlier round, whose clients went away."""
        deadline = time.monotonic() + longest
        before = 0
        while self._cpu() - before > 5e6 and time.monotonic() < deadline:
            before = self._cpu()
            time.sleep(0.2)

    def peak(self):
        return memory_megabytes(self.worker.pid, "VmHWM")

    def rests(self):
        return memory_megabytes(self.worker.pid) / self.rest


def measure(parts, upstream, pairs, seconds):
    """({limit: value}, notes)"""
    if not parts.worker:
        raise NotMeasured("clients: there is no worker")
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = min(LARGE, (files - _OTHER_FILES) // 2)
    small, large = _Crowd(parts, upstream, SMALL), _Crowd(parts, upstream, most)
    held = {crowd: crowd.wave(upstream) for crowd in (small, large)}
    waved = time.monotonic()
    memory = {crowd: crowd.peak() for crowd in (small, large)}
    time.sleep(max(0, waved + _CALM_SECONDS - time.monotonic()))
    after, after_large = small.rests(), large.rests()
    # In turns, for what else the machine does.
    costs = [(large.round(upstream, seconds), small.round(upstream, seconds)) for _ in range(pairs)]
    values = {
        "clients_1000_errors": small.errors(), "clients_1000_in_flight": held[small],
        "clients_1000_rss_mb": memory[small], "rss_after_wave_over_rest": after,
        "clients_10000_errors": large.errors(), "clients_10000_missing_in_flight": max(0, most - held[large]),
        "clients_10000_rss_mb": memory[large],
        "clients_10000_cpu_over_1000": statistics.median(large / small for large, small in costs),
    }
    notes = [f"clients: {crowd.clients:,} in flight took {memory[crowd]:.1f} MB, {crowd.rest:.1f} MB before."
             for crowd in (small, large)]
    notes.append(f"clients: a minute after {most:,} in flight the worker has {after_large:.2f} times what it had before.")
    for crowd in (small, large):
        for said, counts in (("wrk", crowd.kinds), ("nginx", crowd.reasons())):
            listed = ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
            if listed:
                notes.append(f"clients: errors of {crowd.clients:,}, by {said}: {listed}.")
    queue = int(pathlib.Path("/proc/sys/net/core/somaxconn").read_text())
    if queue < most:
        notes.append(f"clients_10000: net.core.somaxconn is {queue:,} here; when more connections than that come while "
                     "the worker does something else, the rest are refused.")
    if most < LARGE:
        notes.append(f"clients_10000: measured with {most:,}, since a process may open {files:,} files here.")
    return values, notes

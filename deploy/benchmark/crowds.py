"""Thousands of clients at once whose requests all wait for STS: what the worker has in memory then, and a minute later."""

import resource
import statistics
import time

import canned
import load
from processes import NotMeasured, cpu_by_thread, memory_megabytes
from scenarios import Scenario, has_credentials, vend

SMALL, LARGE = 1000, 10_000
_LONGEST_WAVE_SECONDS = 12      # the upstream waits ten for all
_CALM_SECONDS = 60
_OTHER_FILES = 60               # of a process, beside two for each request: the client's and the upstream's


class _Crowd:
    """A worker of its own, behind an nginx of its own."""

    def __init__(self, parts, upstream, clients):
        self.clients = clients
        name = f"clients_{clients}"
        # Time limits are long: it is the room for all that is measured, on a machine that does four processes' work.
        self.worker = parts.start_worker(name, upstream, credential_cache=False, slowed=True)
        self.port = parts.start_front_of_crowd(name)
        scenario = Scenario(name, "", [vend(f"u_{n}", f"device_{n}") for n in range(clients)], has_credentials)
        self.requests = scenario.write(parts.run)
        scenario.check(self.port)
        self.rest = memory_megabytes(self.worker.pid)
        self.errors, self.costs = 0, []

    def wave(self, upstream):
        """How many requests the upstream had at once when it waited for all."""
        canned.reset_slow(upstream)
        canned.ask_slow(upstream, f"hold/{self.clients}")
        self.errors += load.run(self.port, self.requests, self.clients, _LONGEST_WAVE_SECONDS)["errors"]
        return canned.ask_slow(upstream)["peak"]

    def round(self, seconds):
        """Microseconds of the worker's CPU for a request."""
        before = sum(cpu_by_thread(self.worker.pid).values())
        result = load.run(self.port, self.requests, self.clients, seconds)
        self.errors += result["errors"]
        spent = sum(cpu_by_thread(self.worker.pid).values()) - before
        return spent / 1e3 / result["requests"]

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
    costs = [(large.round(seconds), small.round(seconds)) for _ in range(pairs)]
    values = {
        "clients_1000_errors": small.errors, "clients_1000_in_flight": held[small],
        "clients_1000_rss_mb": memory[small], "rss_after_wave_over_rest": after,
        "clients_10000_errors": large.errors, "clients_10000_missing_in_flight": max(0, most - held[large]),
        "clients_10000_rss_mb": memory[large],
        "clients_10000_cpu_over_1000": statistics.median(large / small for large, small in costs),
    }
    notes = [f"clients: {crowd.clients:,} in flight took {memory[crowd]:.1f} MB, {crowd.rest:.1f} MB before."
             for crowd in (small, large)]
    notes.append(f"clients: a minute after {most:,} in flight the worker has {after_large:.2f} times what it had before.")
    if most < LARGE:
        notes.append(f"clients_10000: measured with {most:,}, since a process may open {files:,} files here.")
    return values, notes

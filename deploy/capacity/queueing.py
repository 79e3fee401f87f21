"""Response times at a rate: a machine's processes as queues that share its cores, run event by event.

The costs of a request are those of a machine that is busy. Where a process has nothing to do, it sleeps, and to wake it costs
the one that sends it something and itself: several times what the request costs, on a virtual machine. Half of what a request
costs more at a low rate is taken to be the sender's. A process that has more work wakes none: it is as busy as when the costs of a
request were measured, which have no such part.
"""

import collections
import dataclasses
import heapq
import math
import random

_SLICE = 0.1            # seconds of the kernel's CFS period, in which a quota counts
_REQUESTS = 20_000
_WARM_UP = 2_000        # of these the first are not counted


@dataclasses.dataclass(frozen=True)
class Load:
    """What is predicted."""

    rate: float
    workers: int
    cached: float
    cores: int
    quota: float            # of a core, for each worker; 1 for none
    generator: float        # µs of CPU for each request
    sts_ms: float
    even: bool              # arrivals at even distances, as of a metronome; else at random (Poisson)
    seed: int
    roles: int = 1
    sts_quota: float = math.inf     # calls a second, of each role


@dataclasses.dataclass(frozen=True)
class Prediction:
    rate: float
    workers: int
    cached: float
    p50: float | None       # µs; None past the knee
    p99: float | None
    cpu: dict               # cores, by role
    redis_commands: float   # a second
    sts_calls: float        # a second
    knee: float
    knee_reason: str

    @property
    def is_past_knee(self):
        return self.p50 is None

    def rows(self):
        times = [] if self.is_past_knee else [("p50", self.p50 / 1000, "ms"), ("p99", self.p99 / 1000, "ms")]
        return [*times, *((f"CPU, {role}", value, "cores") for role, value in self.cpu.items()),
                ("Redis commands", self.redis_commands, "/s"), ("STS calls", self.sts_calls, "/s"), ("knee", self.knee, "/s")]

    def as_json(self):
        return dataclasses.asdict(self) | {"past_knee": self.is_past_knee}


def predicted(load, costs):
    cost = costs.vend(load.cached)
    cpu = {"worker": cost.worker, "nginx": cost.nginx, "redis": cost.redis}
    if load.generator:
        cpu["generator"] = load.generator
    bounds = [(_of_workers(load, cost, costs), f"{load.workers} worker(s)" +
               (f" at {load.quota:.0%} of a core" if load.quota < 1 else "")),
              (1e6 / cost.redis, "Redis, which has one thread"),
              (load.cores * 1e6 / sum(cpu.values()), f"{load.cores} core(s) for all processes")]
    if load.generator:
        bounds.append((1e6 / load.generator, "the generator, which has one thread"))
    if load.cached < 1:
        # Only what is not cached makes a call.
        bounds.append((load.roles * load.sts_quota / (1 - load.cached),
                       f"STS, with {load.roles} role(s) of {load.sts_quota:,.0f} calls/s,"))
    knee, reason = min(bounds)
    found = None
    cpu = {role: load.rate * each / 1e6 for role, each in cpu.items()}
    if load.rate < knee * 0.995:
        run = _Run(load, costs).waiting()
        found = sorted(run.times())
        cpu |= run.cores()
    return Prediction(
        rate=load.rate, workers=load.workers, cached=load.cached,
        p50=found and found[len(found) // 2], p99=found and found[len(found) * 99 // 100], cpu=cpu,
        redis_commands=load.rate * cost.commands, sts_calls=load.rate * (1 - load.cached), knee=knee,
        knee_reason=f"{reason} can do {knee:,.0f} requests/s")


def _of_workers(load, cost, costs):
    """Requests a second that the workers' CPU is enough for."""
    rate = load.workers * load.quota / (cost.worker / 1e6)
    if load.quota < 1:
        # What leaves the workers so little leaves the others idle: they are woken for each request all the same.
        for _ in range(20):
            woken = 2 * _wakes(costs, rate / load.workers)["worker"]
            rate = load.workers * load.quota / ((cost.worker + woken) / 1e6)
    return rate


def _wakes(costs, rate):
    """Microseconds that one costs the sender and the woken process, by the role of each, at a rate for each worker: how deep they
    sleep goes by how long. A request goes to Redis once, to the others twice, and each of them sends it on as often."""
    found = costs.wakes(rate)
    return {"worker": found.worker / 4, "nginx": found.nginx / 4, "redis": found.redis / 2}


def times(load, costs):
    """Of single requests, in microseconds."""
    return _Run(load, costs).waiting().times()


def curve(load, costs):
    """Predictions from a tenth of the knee up to it."""
    knee = predicted(load, costs).knee
    return [predicted(dataclasses.replace(load, rate=knee * share), costs)
            for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.96)]


class _Process:
    """One thread: its work in the order in which it came."""

    def __init__(self, wake, quota=1.0):
        self.work = collections.deque()         # [seconds left, request or None]
        self.wake = wake                        # seconds
        self.quota = quota
        self.budget = quota * _SLICE
        self.used = 0.0                         # seconds

    def wakes(self):
        """What it costs to send to one that sleeps. Those that a quota keeps waiting have work, but others are idle meanwhile."""
        if not self.work or self.quota < 1:
            self.work.appendleft([self.wake, None])

    def runs(self):
        return bool(self.work) and (self.quota >= 1 or self.budget > 1e-12)


class _Run:
    def __init__(self, load, costs):
        self.load = load
        self.random = random.Random(load.seed)
        rate = load.rate / load.workers
        wakes = {role: each / 1e6 for role, each in _wakes(costs, rate).items()}
        self.nginx = [_Process(wakes["nginx"]) for _ in range(load.cores)]
        self.workers = [_Process(wakes["worker"], load.quota) for _ in range(load.workers)]
        self.redis = _Process(wakes["redis"])
        self.generator = _Process(0)
        self.taken = 0
        self.processes = [*self.nginx, *self.workers, self.redis, self.generator]
        self.hit, self.miss = costs.vend_cached, costs.vend_sts
        self.costs = costs
        self.wait = 0, 0

    def waiting(self):
        """Where a request takes longer than by these processes alone, as between two of them in the kernel, what is lacking comes
        on top, with its spread: as much as a single worker lacks at this rate, as it was measured."""
        load, at = self.load, self.costs.at(self.load.rate / self.load.workers)
        alone = dataclasses.replace(load, rate=load.rate / load.workers, workers=1, quota=1, cached=1, even=True)
        own = sorted(_Run(alone, self.costs).times())
        median, high = (max(1.0, each - own[len(own) // 2]) for each in (at.p50, at.p99))
        self.wait = math.log(median), max(0.0, math.log(high / median) / 2.326)
        return self

    def times(self):
        """Microseconds of each counted request."""
        load, now, number = self.load, 0.0, 0
        arrival, tick = self._gap(), _SLICE
        limited = load.quota < 1
        waiting, taken = [], []             # (time, number, steps) of those who wait for STS
        while len(taken) < _REQUESTS + _WARM_UP:
            active = [each for each in self.processes if each.runs()]
            share = min(1.0, load.cores / len(active)) if active else 1.0
            step = arrival - now
            if waiting:
                step = min(step, waiting[0][0] - now)
            if limited:
                step = min(step, tick - now)
            for each in active:
                left = each.work[0][0]
                if each.quota < 1:
                    left = min(left, each.budget)
                step = min(step, left / share)
            step = max(step, 0.0)
            now += step
            for each in active:
                each.work[0][0] -= step * share
                each.used += step * share
                if each.quota < 1:
                    each.budget -= step * share
                if each.work[0][0] <= 1e-12:
                    _, request = each.work.popleft()
                    self._next(request, now, waiting, taken, each)
            while waiting and waiting[0][0] <= now + 1e-12:
                self._next(heapq.heappop(waiting)[2], now, waiting, taken)
            if limited and now >= tick - 1e-12:
                tick += _SLICE
                for each in self.workers:
                    each.budget = each.quota * _SLICE
            if now >= arrival - 1e-12:
                number += 1
                self._next([now, number, self._steps(number)], now, waiting, taken)
                arrival += self._gap()
        self.taken = len(taken)
        return [(each * 1e6 + self.random.lognormvariate(*self.wait)) for each in taken[_WARM_UP:]]

    def cores(self):
        """Busy ones by role, of a run that has ended. More requests than the rate may have come by chance: no thread has more."""
        roles = {"worker": self.workers, "nginx": self.nginx, "redis": [self.redis]}
        return {role: sum(min(1.0, each.used / self.taken * self.load.rate) for each in processes)
                for role, processes in roles.items()}

    def _gap(self):
        return 1 / self.load.rate if self.load.even else self.random.expovariate(self.load.rate)

    def _steps(self, number):
        """(process or None for a wait, seconds) from the last to the first."""
        hits = self.random.random() < self.load.cached
        cost = self.hit if hits else self.miss
        nginx = self.nginx[self.random.randrange(len(self.nginx))]
        worker = self.workers[number % len(self.workers)]
        begin = [(self.generator, self.load.generator / 2e6)] if self.load.generator else []
        half = [(nginx, cost.nginx / 2e6)]
        middle = [(worker, cost.worker / 2e6), (self.redis, cost.redis / 1e6)]
        if not hits:
            middle = [(worker, cost.worker / 3e6), (self.redis, cost.redis / 1e6), (worker, cost.worker / 3e6),
                      (None, self.load.sts_ms / 1e3)]
        last = [(worker, cost.worker / (2e6 if hits else 3e6))]
        return [*begin, *half, *middle, *last, *half, *begin][::-1]

    def _next(self, request, now, waiting, taken, sender=None):
        if request is None:
            return
        start, number, steps = request
        if not steps:
            taken.append(now - start)
            # The client, on another machine or here, is woken as well.
            if sender:
                sender.wakes()
            return
        process, seconds = steps.pop()
        if process is None:
            heapq.heappush(waiting, (now + seconds, number, request))
            return
        if not process.work:
            seconds += process.wake
            if sender:
                sender.wakes()
        process.work.append([seconds, request])

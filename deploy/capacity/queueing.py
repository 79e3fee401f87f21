"""Response times at a rate: a machine's processes as queues that share its cores, run event by event."""

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


@dataclasses.dataclass(frozen=True)
class Prediction:
    rate: float
    workers: int
    cached: float
    p50: float | None       # µs; None past the knee
    p99: float | None
    cpu: dict               # cores, by role
    redis_commands: float   # a second
    knee: float
    knee_reason: str

    @property
    def is_past_knee(self):
        return self.p50 is None

    def rows(self):
        times = [] if self.is_past_knee else [("p50", self.p50 / 1000, "ms"), ("p99", self.p99 / 1000, "ms")]
        return [*times, *((f"CPU, {role}", value, "cores") for role, value in self.cpu.items()),
                ("Redis commands", self.redis_commands, "/s"), ("knee", self.knee, "/s")]

    def as_json(self):
        return dataclasses.asdict(self) | {"past_knee": self.is_past_knee}


def predicted(load, costs):
    cost = costs.vend(load.cached)
    cpu = {"worker": cost.worker, "nginx": cost.nginx, "redis": cost.redis}
    if load.generator:
        cpu["generator"] = load.generator
    bounds = [(load.workers * load.quota / (cost.worker / 1e6), f"{load.workers} worker(s)" +
               (f" at {load.quota:.0%} of a core" if load.quota < 1 else "")),
              (1e6 / cost.redis, "Redis, which has one thread"),
              (load.cores * 1e6 / sum(cpu.values()), f"{load.cores} core(s) for all processes")]
    if load.generator:
        bounds.append((1e6 / load.generator, "the generator, which has one thread"))
    knee, reason = min(bounds)
    found = sorted(times(load, costs)) if load.rate < knee * 0.995 else None
    return Prediction(
        rate=load.rate, workers=load.workers, cached=load.cached,
        p50=found and found[len(found) // 2], p99=found and found[len(found) * 99 // 100],
        cpu={role: load.rate * each / 1e6 for role, each in cpu.items()},
        redis_commands=load.rate * cost.commands, knee=knee,
        knee_reason=f"{reason} can do {knee:,.0f} requests/s")


def times(load, costs):
    """Of single requests, in microseconds."""
    return _Run(load, costs).times()


def curve(load, costs):
    """Predictions from a tenth of the knee up to it."""
    knee = predicted(load, costs).knee
    return [predicted(dataclasses.replace(load, rate=knee * share), costs)
            for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.96)]


class _Process:
    """One thread: its work in the order in which it came."""

    def __init__(self, quota=1.0):
        self.work = collections.deque()         # [seconds left, request]
        self.quota = quota
        self.budget = quota * _SLICE

    def runs(self):
        return bool(self.work) and (self.quota >= 1 or self.budget > 1e-12)


class _Run:
    def __init__(self, load, costs):
        self.load = load
        self.random = random.Random(load.seed)
        self.nginx = [_Process() for _ in range(load.cores)]
        self.workers = [_Process(load.quota) for _ in range(load.workers)]
        self.redis = _Process()
        self.generator = _Process()
        self.processes = [*self.nginx, *self.workers, self.redis, self.generator]
        self.hit, self.miss = costs.vend_cached, costs.vend_sts
        # What a lone request takes above its CPU time: wake-ups, sockets. Its spread is that of a lone client.
        own = sum((self.hit.worker, self.hit.nginx, self.hit.redis))
        median, high = (max(1.0, each - own) for each in (costs.alone_p50, costs.alone_p99))
        self.wait = math.log(median), max(0.0, math.log(high / median) / 2.326)

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
                if each.quota < 1:
                    each.budget -= step * share
                if each.work[0][0] <= 1e-12:
                    _, request = each.work.popleft()
                    self._next(request, now, waiting, taken)
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
        return [(each * 1e6 + self.random.lognormvariate(*self.wait)) for each in taken[_WARM_UP:]]

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

    def _next(self, request, now, waiting, taken):
        start, number, steps = request
        if not steps:
            taken.append(now - start)
            return
        process, seconds = steps.pop()
        if process is None:
            heapq.heappush(waiting, (now + seconds, number, request))
        else:
            process.work.append([seconds, request])

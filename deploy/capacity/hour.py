"""The busiest hour, request by request, with what goes wrong in it.

Vends come at random (Poisson) at the peak's rate. Each waits for a worker, for Redis and, unless its credentials are cached,
for a call of its role's STS. A call beyond the quota is throttled; the worker tries it as often as by default, from its budget
of retries for that role (botocore's standard mode), and then answers 503; after 20 of these in a row it makes no call for the
role for a second, where there are others. A client that got 503 comes again, after a
random part of a delay that doubles, without end. Credentials that could stand in for new ones are left out: reality is kinder.
"""

import dataclasses
import heapq
import random

from inputs import plain

SECONDS = 3600
_PEAK = (600, 30, 3)                # at, for, times as many vends
_FAILOVER = (1200, 4.0)             # at, for: a cluster with a node timeout of 2 s, measured
_THROTTLING = (1800, 60, 0.5)       # at, for, part of the quota that is left
_EXPIRY = (2400, 60)                # at, in one second as many as otherwise in so many
_RELOAD = 2700                      # each worker is replaced, and its cache with it
_SLOW_DOWN = (3000, 60, 0.5)
_QUIET = 300                        # seconds at the beginning that say what is normal
_LAST = 10                          # a queue is to be settled so many seconds before the end

_HOPELESS = 600                     # more than so many seconds' vends cannot be caught up with

_ATTEMPTS = 3                       # aws.maximumAttempts
_BUDGET, _RETRY, _REFUND = 500, 5, 1    # of each role in a worker
_THRESHOLD, _PAUSE = 20, 1.0            # of RoleBreaker
_LONGEST_DELAY = 60


@dataclasses.dataclass
class Queue:
    """How full it was: work at its most within each second, all else at the end of it."""

    title: str
    unit: str
    course: list = dataclasses.field(default_factory=list)

    @property
    def greatest(self):
        return max(value for _, value in self.course)

    @property
    def greatest_at(self):
        return max(self.course, key=lambda each: each[1])[0]

    @property
    def normal(self):
        return 2 * max(value for at, value in self.course if at <= _QUIET) + 5

    @property
    def settled(self):
        """From when on it was never longer than normal; None if that was not before the end."""
        normal = self.normal
        last = max((at for at, value in self.course if value > normal), default=0)
        return None if last > self.course[-1][0] - _LAST else last

    @property
    def grows(self):
        return self.settled is None

    @property
    def reason(self):
        end, normal = (plain(round(each, 3)) for each in (self.course[-1][1], self.normal))
        return f"{end} {self.unit} at the end; up to {normal} are normal, by the first {_QUIET} s"

    def as_json(self):
        return {"title": self.title, "unit": self.unit, "greatest": self.greatest, "greatest_at": self.greatest_at,
                "settled": self.settled, "grows": self.grows, "course": self.course}


class _STS:
    """One role's quota, as a bucket of tokens that holds one second's."""

    def __init__(self, quota):
        self.quota, self.tokens, self.at = quota, quota, 0.0

    def takes(self, now, part):
        self.tokens = min(self.quota * part, self.tokens + (now - self.at) * self.quota * part)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class _RoleClient:
    """A worker's for one role: its budget of retries, and its breaker, which one that `is_alone` lacks."""

    def __init__(self, sts, is_alone):
        self.sts, self.budget, self.is_alone = sts, _BUDGET, is_alone
        self.failures, self.open_until, self.is_probing = 0, 0.0, False

    def begins(self, now):
        """False where no call is made now."""
        if self.failures < _THRESHOLD or self.is_alone:
            return True
        if now < self.open_until or self.is_probing:
            return False
        self.is_probing = True
        return True

    def retries(self):
        """False where nothing is left of the budget."""
        if self.budget < _RETRY:
            return False
        self.budget -= _RETRY
        return True

    def ends(self, now, attempt=None):
        """With which attempt a call succeeded; None: it failed."""
        self.is_probing = False
        if attempt is None:
            self.failures, self.open_until = self.failures + 1, now + _PAUSE
        else:
            self.failures = 0
            self.budget = min(_BUDGET, self.budget + (_RETRY if attempt > 1 else _REFUND))


class Hour:
    def __init__(self, plan, seed, sts_ms, progress=lambda second: None):
        self.seed = seed
        self._random = random.Random(seed)
        self._plan, self._given, self._progress = plan, plan.given, progress
        self._sts_seconds = sts_ms / 1000
        self.rate, self._entries = plan["vends_peak"], plan["cache_entries"]
        self.vends = self.served = self.refused = self.throttled = 0
        self.queues = [Queue("work of the busiest worker", "ms"), Queue("work of Redis", "ms"),
                       Queue("requests that wait for STS", "requests"), Queue("clients that will come again", "clients"),
                       Queue("copies and uploads that wait for S3", "writes")]
        self.events = [
            (_PEAK[0], f"{_PEAK[2]} times as many vends for {_PEAK[1]} s"),
            (_FAILOVER[0], f"a primary of Redis is lost: {_FAILOVER[1]:g} s without"),
            (_THROTTLING[0], f"STS takes {_THROTTLING[2]:.0%} of its quota for {_THROTTLING[1]} s"),
            (_EXPIRY[0], f"{self.rate * _EXPIRY[1]:,.0f} credentials end in one second"),
            *self._reload(),
            (_SLOW_DOWN[0], f"S3 takes {_SLOW_DOWN[2]:.0%} of its writes for {_SLOW_DOWN[1]} s")]
        self._run()

    @property
    def grows(self):
        return any(each.grows for each in self.queues)

    @property
    def hit(self):
        """Limits of the plan, which no queue need show: too small a cache makes none longer."""
        return self._plan.hit

    def as_json(self):
        return {"seed": self.seed, "vends": self.vends, "served": self.served, "refused": self.refused,
                "throttled": self.throttled, "grows": self.grows,
                "limits": [each.as_json() for each in self._plan.limits], "hit": [each.name for each in self.hit],
                "events": [{"at": at, "what": what} for at, what in self.events],
                "queues": [each.as_json() for each in self.queues]}

    def _run(self):
        costs = self._plan.costs
        # Until when each has work; and what uploads and renewals leave of it for vends.
        self._servers = [[0.0] * int(self._plan[each]) for each in ("workers", "redis_primaries")]
        self._free = [max(1e-3, 1 - self._load(each) / len(servers))
                      for each, servers in zip(("worker", "redis"), self._servers)]
        self._hit, self._miss = costs.vend_cached, costs.vend_sts
        roles = [_STS(self._given["sts_quota"]) for _ in range(self._plan.roles)]
        self._clients = [[_RoleClient(each, len(roles) == 1) for each in roles] for _ in self._servers[0]]
        self._later = []            # (time, number, what, attempt): calls of STS to repeat, and clients to come again
        self._number = self._waiting = self._coming = 0
        self._lost = 0.0            # share of what is handed out again that a reload has emptied caches of
        writes = 0.0
        for second in range(SECONDS):
            self._second(second)
            writes = self._writes(second, writes)
            end = second + 1
            lengths = (*(1000 * each for each in self._deepest), self._waiting, self._coming, writes)
            for queue, length in zip(self.queues, lengths):
                queue.course.append((end, length))
            self._progress(end)
            if self._coming > self.rate * _HOPELESS:
                self.events.append((end, "stopped: more clients wait than otherwise come in ten minutes"))
                break

    def _reload(self):
        """What it does, where anything is cached."""
        if not self._entries:
            return []
        if self._given["shared_cache"]:
            return [(_RELOAD, "a reload: the workers' caches are empty, and what was in them is in Redis")]
        return [(_RELOAD, f"a reload: the workers' caches are empty, and {self._entries:,.0f} credentials are fetched again")]

    def _load(self, role):
        return self._plan[f"{role}_uploads"] + self._plan[f"{role}_renewals"]

    def _second(self, second):
        """All that begins in this second, in order."""
        rate = self.rate * (_PEAK[2] if _PEAK[0] <= second < _PEAK[0] + _PEAK[1] else 1)
        count = self._poisson(rate) + (self._poisson(self.rate * _EXPIRY[1]) if second == _EXPIRY[0] else 0)
        if second == _RELOAD and not self._given["shared_cache"]:
            self._lost = 1.0
        self._deepest = [0.0, 0.0]
        draw = self._random.random
        arrivals = sorted([second + draw() for _ in range(count)], reverse=True)
        self.vends += count
        later = self._later
        while arrivals or later and later[0][0] < second + 1:
            if not arrivals or later and later[0][0] < arrivals[-1]:
                at, _, what, attempt = heapq.heappop(later)
                what(at, attempt)
            else:
                self._vend(arrivals.pop(), (0, self._drawn()))

    def _drawn(self):
        """Whether a vend's credentials are cached, were before the reload, or are new."""
        share, drawn = self._given["cached"], self._random.random()
        return "new" if drawn >= share else "lost" if drawn >= share * (1 - self._lost) else "cached"

    def _vend(self, now, state):
        visits, kind = state
        if visits:
            self._coming -= 1
        cost = self._hit if kind == "cached" else self._miss
        worker = self._take(0, now, cost.worker / 1e6)
        if _FAILOVER[0] <= now < _FAILOVER[0] + _FAILOVER[1]:
            # limits.vend.whenRedisIsAway is "closed".
            self._refuse(now, state)
            return
        self._take(1, now, cost.redis / 1e6)
        if kind == "cached":
            self.served += 1
            return
        clients = self._clients[worker]
        client = clients[self._random.randrange(len(clients))]
        if not client.begins(now):
            self._refuse(now, state)
            return
        self._waiting += 1
        self._call(now, (1, state, client))

    def _call(self, now, state):
        attempt, vend, client = state
        part = _THROTTLING[2] if _THROTTLING[0] <= now < _THROTTLING[0] + _THROTTLING[1] else 1
        if client.sts.takes(now, part):
            self._push(now + self._sts_seconds, self._finish, state)
            return
        self.throttled += 1
        if attempt < _ATTEMPTS and client.retries():
            self._push(now + self._random.random() * 2 ** (attempt - 1), self._call, (attempt + 1, vend, client))
            return
        client.ends(now)
        self._waiting -= 1
        self._refuse(now, vend)

    def _finish(self, now, state):
        attempt, (_, kind), client = state
        client.ends(now, attempt)
        self._waiting -= 1
        self.served += 1
        if self._lost and self._entries:
            # A new user's take the place of ones that have ended, which may have been among those that were lost.
            self._lost = max(0.0, self._lost - (1 if kind == "lost" else self._lost) / self._entries)

    def _refuse(self, now, vend):
        """The client comes again, and no other has fetched its credentials meanwhile."""
        visits, kind = vend
        self.refused += 1
        self._coming += 1
        self._push(now + 1 + self._random.random() * min(_LONGEST_DELAY, 2 ** min(visits, 10)), self._vend, (visits + 1, kind))

    def _push(self, at, what, state):
        self._number += 1
        heapq.heappush(self._later, (at, self._number, what, state))

    def _take(self, kind, now, seconds):
        """The work goes to the server of its kind (0 workers, 1 Redis) that is free first. Gives its place."""
        servers = self._servers[kind]
        place = min(range(len(servers)), key=servers.__getitem__) if len(servers) > 1 else 0
        servers[place] = max(now, servers[place]) + seconds / self._free[kind]
        self._deepest[kind] = max(self._deepest[kind], servers[place] - now)
        return place

    def _writes(self, second, waiting):
        slow = _SLOW_DOWN[0] <= second < _SLOW_DOWN[0] + _SLOW_DOWN[1]
        prefixes = self._given.get("prefixes", self._plan["prefixes"])
        return max(0.0, waiting + self._poisson(self._plan["s3_writes_peak"])
                   - self._given["s3_writes"] * prefixes * (_SLOW_DOWN[2] if slow else 1))

    def _poisson(self, mean):
        """Few by their gaps; many by the normal distribution, which is as good then."""
        if mean > 50:
            return max(0, round(self._random.gauss(mean, mean ** 0.5)))
        count, at = 0, self._random.expovariate(1) if mean else 1.0
        while at < mean:
            count, at = count + 1, at + self._random.expovariate(1)
        return count

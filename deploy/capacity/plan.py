"""The plan: every number with the formula that gave it."""

import dataclasses
import math

from inputs import (ENTRY_BYTES, KEPT_FOR_SURE, MAXIMUM_ENTRIES, MAXIMUM_ROLES, REUSED_FOR, SHARED_COMMANDS, STREAM_BYTES,
                    STREAM_COMMANDS, WINDOWS_OF_A_REQUEST, exact, plain)

_DAY = 86_400
_SPARE_HOSTS = 1        # one may be lost, or be upgraded
# A primary of Redis and two replicas: with min-replicas-to-write 1 the one that takes its place needs one of its own.
_COPIES = 3


@dataclasses.dataclass(frozen=True)
class Quantity:
    name: str
    title: str
    value: float
    unit: str
    formula: str

    def as_json(self):
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Limit:
    """What AWS, or one Redis server, does not exceed, and how much of it is used at peak."""

    name: str
    title: str
    used: float
    allowed: float
    way_out: str
    is_hit: bool
    unit: str = "/s"

    @property
    def share(self):
        return self.used / self.allowed

    def as_json(self):
        return dataclasses.asdict(self) | {"share": self.share}


class Plan:
    """What so many users need."""

    def __init__(self, inputs, costs):
        self.inputs, self.costs = inputs, costs
        self.given = {name: each.value for name, each in inputs.items()}
        self.quantities = []
        self.limits = []
        self._rates()
        self._sts()
        self._cpu()
        self._redis()
        self._s3()
        self._cache()
        self._money()

    def __getitem__(self, name):
        return next(each.value for each in self.quantities if each.name == name)

    @property
    def hit(self):
        """Limits that nothing is left to spread."""
        return [each for each in self.limits if each.is_hit]

    def all_inputs(self):
        return [*self.inputs.values(), *self.costs.inputs()]

    def as_json(self):
        return {"inputs": [each.as_json() for each in self.all_inputs()],
                "quantities": [each.as_json() for each in self.quantities],
                "limits": [each.as_json() for each in self.limits], "hit": [each.name for each in self.hit]}

    def _add(self, name, title, value, unit, formula):
        self.quantities.append(Quantity(name, title, value, unit, formula))
        return value

    def _rates(self):
        g = self.given
        users, peak = g["users"], g["peak"]
        for name, title, each_day in (("vends", "vends", g["vends"]), ("uploads", "presigned uploads", g["uploads"]),
                                      ("copies", "images renewed", g["images"] / g["renew_days"])):
            formula = f"{plain(users)} users × {plain(each_day)} ÷ {_DAY:,} s" if name != "copies" else \
                f"{plain(users)} users × {plain(g['images'])} images ÷ {plain(g['renew_days'])} days ÷ {_DAY:,} s"
            mean = self._add(name, f"{title}, mean", users * each_day / _DAY, "/s", formula)
            self._add(f"{name}_peak", f"{title}, at peak", mean * peak, "/s", f"{plain(mean)} × {plain(peak)}")
        self._add("renewals_peak", "renewal requests, at peak", self["copies_peak"] / g["batch"], "/s",
                  f"{plain(self['copies_peak'])} ÷ {plain(g['batch'])} keys")
        self._add("requests_peak", "all requests, at peak",
                  self["vends_peak"] + self["uploads_peak"] + self["renewals_peak"], "/s",
                  "vends + uploads + renewal requests")

    def _sts(self):
        g = self.given
        calls = self._add("sts_peak", "STS calls, at peak", self["vends_peak"] * (1 - g["cached"]), "/s",
                          f"{plain(self['vends_peak'])} × (1 − {plain(g['cached'])} cached)")
        needed = max(1, math.ceil(calls / g["sts_quota"] - 1e-9))
        self._add("roles", "roles needed, each with a quota of its own", needed, "",
                  f"⌈{plain(calls)} ÷ {plain(g['sts_quota'])}⌉")
        available = g.get("roles", min(needed, MAXIMUM_ROLES))
        self.limits.append(Limit(
            "sts", f"STS calls, with {plain(available)} role{'s' if available > 1 else ''}", calls,
            available * g["sts_quota"],
            f"spread subjects over {needed} roles: vending.roles" if needed <= MAXIMUM_ROLES else
            f"{needed} roles would be needed and vending.roles takes {MAXIMUM_ROLES}: cache more, or split the users",
            calls > available * g["sts_quota"] * (1 + 1e-9)))
        self.roles = int(max(available, 1))

    def _cpu(self):
        g, costs = self.given, self.costs
        vend, upload, renewal = costs.vend(g["cached"]), costs.upload, costs.renewal(g["batch"])
        self.parts = [("vends", self["vends_peak"], vend), ("uploads", self["uploads_peak"], upload),
                      ("renewals", self["renewals_peak"], renewal)]
        for role in ("worker", "nginx", "redis"):
            title = {"worker": "workers", "nginx": "nginx", "redis": "Redis"}[role]
            for name, rate, cost in self.parts:
                each = getattr(cost, role)
                self._add(f"{role}_{name}", f"{title}, for {name}, at peak", rate * each / 1e6, "cores",
                          f"{plain(rate)}/s × {plain(each)} µs")
        workers, hosts = self._fewest_machines()
        self._cores("worker", "workers", workers, workers)
        self._cores("nginx", "nginx", hosts * g["cores"], workers)
        self._machines(workers, hosts)

    def _fewest_machines(self):
        """(workers, hosts). The more there are, the more often each is asleep when a request comes, and is woken."""
        g, workers, hosts = self.given, 1, 1
        while True:
            of_workers = self._used("worker", workers, workers)
            cores = of_workers + self._used("nginx", hosts * g["cores"], workers)
            needed = max(1, math.ceil(cores / g["busy"] / g["cores"] - 1e-9)) + _SPARE_HOSTS
            fewest = max(needed, math.ceil(of_workers / g["busy"] - 1e-9))
            if fewest <= workers and needed <= hosts:
                return workers, hosts
            workers, hosts = max(workers, fewest), max(hosts, needed)

    def _busy(self, role):
        """Cores that a role's requests need where no process sleeps."""
        return sum(self[f"{role}_{name}"] for name, *_ in self.parts)

    def _asleep(self, role, workers):
        """(wakes a second where all are asleep, as many as of a cached vend for one; µs of each). A worker is woken twice by a vend and
        wakes others twice, and a response of STS wakes it once more."""
        wakes = self["requests_peak"] + (self["sts_peak"] / 4 if role == "worker" else 0)
        return wakes, getattr(self.costs.wakes(self["requests_peak"] / workers), role)

    def _used(self, role, processes, workers):
        """Cores that a role uses: a request finds a process asleep as often as it has nothing to do."""
        wakes, each = self._asleep(role, workers)
        busy, asleep = self._busy(role), wakes * each / 1e6
        return max(busy, (busy + asleep) / (1 + asleep / processes))

    def _cores(self, role, title, processes, workers):
        used, busy = self._used(role, processes, workers), self._busy(role)
        wakes, each = self._asleep(role, workers)
        self._add(f"{role}_wakes", f"{title}, to wake from sleep, at peak", used - busy, "cores",
                  f"{plain(wakes)}/s × {plain(each)} µs × (1 − {plain(used)} ÷ {plain(processes)} threads)")
        self._add(f"{role}_cores", f"{title}, in all, at peak", used, "cores", "vends + uploads + renewals + wakes")

    def _machines(self, workers, hosts):
        g = self.given
        self._add("hosts", "hosts of workers and nginx", hosts, "",
                  f"⌈({plain(self['worker_cores'])} + {plain(self['nginx_cores'])}) cores ÷ {plain(g['busy'])} busy ÷ "
                  f"{plain(g['cores'])}⌉ + {_SPARE_HOSTS} to lose")
        self._add("workers", "workers", workers, "",
                  f"the greater of ⌈{plain(self['worker_cores'])} cores ÷ {plain(g['busy'])} busy⌉, for each has one "
                  f"thread, and {plain(hosts)} hosts")

    def _redis(self):
        g, costs = self.given, self.costs
        shared, streams = self._shared_commands(), self._stream_commands()
        operations = sum(rate * cost.commands for _, rate, cost in self.parts) + shared + streams
        self._add("redis_operations", "Redis commands, at peak", operations, "/s",
                  " + ".join(f"{plain(rate)} × {plain(cost.commands)}" for _, rate, cost in self.parts)
                  + (f" + {plain(shared)} for shared credentials" if shared else "")
                  + (f" + {plain(streams)} for streams" if streams else ""))
        records = self._add("redis_records", "Redis, users' records", g["users"] * costs.memory["record"] / 1e9, "GB",
                            f"{plain(g['users'])} users × {plain(costs.memory['record'])} bytes")
        limits = self._windows()
        held = self._credentials()
        streams = self._streams()
        memory = self._add("redis_memory", "Redis, in all", records + limits + held + streams, "GB",
                           "records + windows + credentials + streams")
        allowed = g["redis_full"] * g["redis_gb"]
        primaries = max(1, _primaries(memory - streams, streams, allowed))
        while (by_cpu := math.ceil(self._used("redis", primaries, self["workers"]) / g["busy"] - 1e-9)) > primaries:
            primaries = by_cpu
        self._cores("redis", "Redis", primaries, self["workers"])
        self._add("redis_primaries", "Redis primaries", primaries, "",
                  f"the greater of ⌈{plain(memory - streams)} ÷ ({plain(g['redis_full'])} full × {plain(g['redis_gb'])} GB"
                  f"{f' − {plain(streams)} of streams' if 0 < streams < allowed else ''})⌉ and "
                  f"⌈{plain(self['redis_cores'])} ÷ {plain(g['busy'])} busy⌉")
        self._add("redis_hosts", "hosts of Redis", primaries * _COPIES, "", f"{plain(primaries)} × (a primary and two replicas)")

    def _shared_commands(self):
        """Each cached vend is counted as one whose credentials another worker has got, and so as found in Redis."""
        misses, hits, each = self["sts_peak"], self["vends_peak"] - self["sts_peak"], SHARED_COMMANDS
        is_shared = self.given["shared_cache"]
        return self._add(
            "redis_shared_commands", "Redis commands, for shared credentials, at peak",
            is_shared * (misses * each["miss"] + hits * each["hit"]), "/s",
            f"{plain(misses)} calls of STS × {each['miss']} + {plain(hits)} found in Redis × {each['hit']}; their CPU time, and that of "
            "sealing and opening entries, is not counted" if is_shared else "off: --shared-cache 1 turns it on")

    def _stream_commands(self):
        """Audit lines of what is issued, and an event of each renewal; what a webhook reads is left out."""
        g, found, terms = self.given, 0, []
        for stream, name, title, rate in (
                ("audit_stream", "audit_line", "audit lines", self["vends_peak"] + self["uploads_peak"]),
                ("event_stream", "event", "events", self["renewals_peak"])):
            if g[stream]:
                found += rate * STREAM_COMMANDS[name]
                terms.append(f"{plain(rate)} {title} × {STREAM_COMMANDS[name]}")
        return self._add(
            "redis_stream_commands", "Redis commands, for streams, at peak", found, "/s",
            f"{' + '.join(terms)}, at most, each on the one primary that has its stream; their CPU time is not counted" if terms else
            "off: --audit-stream N or --event-stream N turns it on")

    def _windows(self):
        """Windows of an hour: of each user, with one device, those of a kind once, however many requests there are."""
        g, costs = self.given, self.costs
        kinds = [("vends", self["vends_peak"], costs.limit_keys), ("uploads", self["uploads_peak"], WINDOWS_OF_A_REQUEST),
                 ("renewals", self["renewals_peak"], WINDOWS_OF_A_REQUEST)]
        begun = [(name, min(rate * 3600, g["users"]), keys) for name, rate, keys in kinds]
        formula = " + ".join(f"{plain(number)} {name} × {plain(keys)}" for name, number, keys in begun)
        return self._add(
            "redis_limits", "Redis, windows of limits",
            sum(number * keys for _, number, keys in begun) * costs.memory["limit"] / 1e9, "GB",
            f"({formula} keys) × {plain(costs.memory['limit'])} bytes; of the busiest hour, of each kind at most one a user")

    def _credentials(self):
        """Of each user one entry, which the next call of STS overwrites, with one scope for all of a user's vends."""
        g, size = self.given, self.costs.memory["credential"]
        entries = min(self["sts_peak"] * g["lifetime"], g["users"])
        return self._add(
            "redis_credentials", "Redis, shared credentials", g["shared_cache"] * entries * size / 1e9, "GB",
            f"the lesser of {plain(self['sts_peak'])} calls/s × {plain(g['lifetime'])} s and {plain(g['users'])} users, × "
            f"{plain(size)} bytes" if g["shared_cache"] else "off: --shared-cache 1 turns it on")

    def _streams(self):
        """Each is one key, and so on one primary however many there are; both may be on the same."""
        g, size = self.given, STREAM_BYTES
        of_event = size["event"] + g["batch"] * size["event_key"]
        parts, ways_out = [], []
        for name, title, number, each, formula, way_out in (
                ("audit", "audit lines", g["audit_stream"], size["audit_line"], f"{size['audit_line']} bytes",
                 "lower audit.streamMaximumLength, or give audit.file instead"),
                ("event", "events", g["event_stream"], of_event,
                 f"({size['event']} + {plain(g['batch'])} keys × {size['event_key']}) bytes",
                 "lower events.streamMaximumLength")):
            parts.append(self._add(
                f"redis_{name}_stream", f"Redis, stream of {title}", number * each / 1e9, "GB",
                f"{plain(number)} × {formula}" if number else f"off: --{name}-stream N turns it on"))
            ways_out += [way_out] if number else []
        if ways_out:
            allowed = g["redis_full"] * g["redis_gb"]
            self.limits.append(Limit("streams", "streams, in one Redis server", sum(parts), allowed, "; ".join(ways_out),
                                     sum(parts) >= allowed * (1 - 1e-9), " GB"))
        return sum(parts)

    def _s3(self):
        g = self.given
        writes = self._add("s3_writes_peak", "S3 writes of assets, at peak", self["copies_peak"] + self["uploads_peak"], "/s",
                           f"{plain(self['copies_peak'])} copies + {plain(self['uploads_peak'])} uploads")
        needed = max(1, math.ceil(writes / g["s3_writes"] - 1e-9))
        self._add("prefixes", "S3 prefixes needed", needed, "",
                  f"⌈{plain(writes)} ÷ {plain(g['s3_writes'])}⌉; S3 splits a prefix with random names by itself")
        available = g.get("prefixes", needed)
        self.limits.append(Limit(
            "s3", f"S3 writes, with {plain(available)} prefix{'es' if available > 1 else ''}", writes,
            available * g["s3_writes"], f"spread assets over {needed} prefixes, or let S3 split the one before users come",
            writes > available * g["s3_writes"] * (1 + 1e-9)))

    def _cache(self):
        """Whether workers keep credentials for as long as they hand them out again: --cached promises as much."""
        g = self.given
        most = g["users"] * self["workers"]
        entries = self._add(
            "cache_entries", "credentials that are handed out again, at peak",
            min(self["sts_peak"] * g["lifetime"] * REUSED_FOR, most) if g["cached"] else 0, "",
            f"{plain(self['sts_peak'])} calls/s × {plain(g['lifetime'])} s × {REUSED_FOR} of their life; at most {plain(most)}, one of "
            "a user in each worker" if g["cached"] else "none: --cached is 0")
        needed = self._add("cache_maximum", "entries needed in each worker's cache", math.ceil(
            entries / KEPT_FOR_SURE / self["workers"] - 1e-9), "",
            f"⌈{plain(entries)} ÷ {plain(self['workers'])} workers ÷ {KEPT_FOR_SURE}⌉, as a full cache drops the older half at once")
        if not g["cached"] or g["shared_cache"]:
            return
        shared = "share the cache in Redis: vending.credentialCache.shared, --shared-cache 1"
        larger = f"raise vending.credentialCache.maximumEntries to {needed:,} (--cache-entries), with " \
            f"{plain(needed * ENTRY_BYTES / 1e9)} GB for it in each worker"
        self.limits.append(Limit(
            "cache", f"entries in caches of {plain(self['workers'])} workers", entries,
            self["workers"] * g["cache_entries"] * KEPT_FOR_SURE,
            f"{shared}, or {larger}" if needed <= MAXIMUM_ENTRIES else shared, needed > g["cache_entries"], ""))

    def _money(self):
        g = self.given
        copies, uploads = self["copies"] * _DAY, self["uploads"] * _DAY
        parts = [
            self._add("dollars_copies", "S3, renewals", copies / 1000 * g["copy_price"], "$/day",
                      f"{plain(copies)} copies × {exact(g['copy_price'])} $ ÷ 1,000"),
            self._add("dollars_uploads", "S3, uploads", uploads / 1000 * g["put_price"], "$/day",
                      f"{plain(uploads)} uploads × {exact(g['put_price'])} $ ÷ 1,000"),
            self._add("dollars_hosts", "hosts", self["hosts"] * 24 * g["host_price"], "$/day",
                      f"{plain(self['hosts'])} × 24 h × {exact(g['host_price'])} $"),
            self._add("dollars_redis", "Redis", self["redis_hosts"] * 24 * g["redis_price"], "$/day",
                      f"{plain(self['redis_hosts'])} × 24 h × {exact(g['redis_price'])} $"),
        ]
        self._add("dollars", "in all; STS costs nothing; storage and traffic come besides", sum(parts), "$/day",
                  "copies + uploads + hosts + Redis")


def _primaries(spread, streams, allowed):
    """The fewest that hold `spread` in equal parts, one of them besides `streams`; where there are none, those for the rest."""
    room = allowed - streams
    return math.ceil(spread / (room if room > allowed * 1e-9 else allowed) - 1e-9)

"""What a plan is made of: numbers of the command line, measured costs, and what AWS allows and charges."""

import dataclasses
import json
import math
import pathlib
import re

SHIPPED_COSTS = pathlib.Path(__file__).resolve().parent / "costs.json"
MAXIMUM_ROLES = 16      # of vending.roles, the one of vending.roleARN among them
MAXIMUM_ENTRIES = 1_000_000     # of vending.credentialCache.maximumEntries
# A worker hands out credentials again until between 50 and 60 % of their life is over.
REUSED_FOR = 0.55
# The cache has two generations of half of maximumEntries: when the younger is full, the elder goes.
KEPT_FOR_SURE = 0.5
ENTRY_BYTES = 3500              # of a worker, for one entry
# upload and uploadBytes, renew and renewKeys: each of the device, and of the user with all devices
WINDOWS_OF_A_REQUEST = 4
# Of one entry of a stream: MEMORY USAGE of the whole stream, divided by its entries. An event names the keys of a renewal.
STREAM_BYTES = {"audit_line": 600, "event": 240, "event_key": 65}
# Redis commands of a script: EVALSHA, and what it runs. A miss looks (GET, SET) and finishes (SET, GET, DEL), and what another worker
# vended is found with GET. Left out: an entry near its end is read before (EVALSHA, GET), and another's lock is waited for.
SHARED_COMMANDS = {"miss": 7, "hit": 2}
# For one entry alone: XLEN, XADD, XLEN. Entries of one turn of a worker share all but XADD.
STREAM_COMMANDS = {"audit_line": 4, "event": 4}


class WrongInput(Exception):
    """A sentence that names what is wrong with an option or a file."""


@dataclasses.dataclass(frozen=True)
class Input:
    """A number with where it comes from: the command line, a measurement, or what was taken for granted."""

    name: str
    value: float
    unit: str
    origin: str         # "given", "default", "measured", "assumed"
    source: str = ""

    def as_json(self):
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Option:
    name: str
    default: float | None
    unit: str
    lowest: float
    greatest: float
    source: str
    whole: bool = False

    @property
    def flag(self):
        return "--" + self.name.replace("_", "-")


# What a user does, and what is bought. A default of None is worked out by the plan.
OPTIONS = [
    Option("users", 10e6, "", 1, 10e9, "users of one day", whole=True),
    Option("vends", 3, "/user/day", 0, 10_000, "requests for credentials"),
    Option("images", 200, "/user", 0, 10e6, "images that are kept alive"),
    Option("uploads", 2, "/user/day", 0, 100_000, "presigned uploads"),
    Option("peak", 4, "×", 1, 100, "the busiest hour over the mean of the day"),
    Option("renew_days", 15, "days", 0.01, 3650, "how often an image is renewed"),
    Option("batch", 100, "keys", 1, 100, "keys of one renewal request", whole=True),
    Option("cached", 0, "share", 0, 1, "vends that a worker serves from its cache"),
    Option("lifetime", 3600, "s", 900, 43_200, "vending.lifetimeSeconds"),
    Option("shared_cache", 0, "0 or 1", 0, 1, "whether workers share credentials in Redis", whole=True),
    Option("cache_entries", 10_000, "/worker", 1, MAXIMUM_ENTRIES, "vending.credentialCache.maximumEntries", whole=True),
    Option("roles", None, "", 1, MAXIMUM_ROLES, "roles with a quota of STS of their own: vending.roles", whole=True),
    Option("prefixes", None, "", 1, 10_000, "S3 prefixes that assets are spread over", whole=True),
    Option("cores", 4, "/host", 1, 512, "cores of a host", whole=True),
    Option("busy", 0.6, "share", 0.05, 0.95, "how busy a core may be at peak"),
    Option("sts_quota", 600, "/s", 1, 10e6,
           "STS, of one account in one Region: IAM User Guide, IAM and AWS STS quotas"),
    Option("s3_writes", 3500, "/s", 1, 10e6,
           "S3, PUT and COPY together, of one prefix: S3 User Guide, Optimizing performance"),
    Option("redis_gb", 12, "GB", 0.1, 10_000, "maxmemory of one Redis server"),
    Option("redis_full", 0.8, "share", 0.05, 1, "how much of it may be in use; the doctor warns from 80 % on"),
    Option("audit_stream", 0, "lines", 0, 1e9, "audit.streamMaximumLength, with audit.stream", whole=True),
    Option("event_stream", 0, "events", 0, 10e6, "events.streamMaximumLength, with events.stream", whole=True),
    Option("copy_price", 0.005, "$/1,000", 0, 100, "S3 pricing, COPY requests, us-east-1"),
    Option("put_price", 0.005, "$/1,000", 0, 100, "S3 pricing, PUT requests, us-east-1"),
    Option("host_price", 0.145, "$/hour", 0, 1000, "EC2 on demand, c7g.xlarge, us-east-1"),
    Option("redis_price", 0.2142, "$/hour", 0, 1000, "EC2 on demand, r7g.large with 16 GB, us-east-1"),
]
# Of --at and --hour alone.
MORE_OPTIONS = [
    Option("at", None, "/s", 0.1, 10e6, "requests a second to predict"),
    Option("workers", None, "", 1, 1024, "workers of --at", whole=True),
    Option("quota", 1, "of a core", 0.01, 1, "CPU quota of each worker, of --at"),
    Option("generator", 0, "µs", 0, 1e6, "CPU of the load generator for a request, of --at"),
    Option("sts_ms", 50, "ms", 0, 60_000, "how long STS takes"),
    Option("seed", 1, "", 0, 2**53, "of the random numbers", whole=True),
]
_ASSUMED = {"sts_ms", "sts_quota", "s3_writes", "copy_price", "put_price", "host_price", "redis_price", "peak", "busy"}
_FACTORS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}


def number(text, option):
    """The number of an option such as `10M`."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([KMG]?)", text)
    if not found:
        raise WrongInput(f"{option.flag} {text!r} is no number; give one such as 3, 0.5 or 10M")
    value = float(found[1]) * _FACTORS[found[2]]
    if not option.lowest <= value <= option.greatest:
        raise WrongInput(f"{option.flag} {text} is out of range: {plain(option.lowest)} to {plain(option.greatest)}")
    if option.whole and value != int(value):
        raise WrongInput(f"{option.flag} {text} is no whole number")
    return value


def plain(value):
    """A number without a needless fraction."""
    if value == int(value):
        return f"{int(value):,}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))) - 1)
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits else text


def exact(value):
    """A number as it was given, such as a price of 0.2142."""
    return f"{value:,.15g}"


def read(given, options=OPTIONS):
    """The inputs by name; those that the plan works out are absent.

    `given` are texts of the command line by the options' names.
    """
    inputs = {}
    for option in options:
        text = given.get(option.name)
        if text is not None:
            inputs[option.name] = Input(option.name, number(text, option), option.unit, "given", option.source)
        elif option.default is not None:
            origin = "assumed" if option.name in _ASSUMED else "default"
            inputs[option.name] = Input(option.name, option.default, option.unit, origin, option.source)
    return inputs


@dataclasses.dataclass(frozen=True)
class Cost:
    """What one request of a kind costs, in microseconds of CPU, and its commands to Redis."""

    worker: float
    nginx: float
    redis: float
    commands: float

    def plus(self, other, share=1.0):
        return Cost(*(one + share * two for one, two in zip(dataclasses.astuple(self), dataclasses.astuple(other))))

    def times(self, factor):
        return Cost(*(factor * each for each in dataclasses.astuple(self)))


NO_COST = Cost(0, 0, 0, 0)
_SCENARIOS = ("vend_cached", "vend_sts", "renew_20", "renew_100", "upload")
_FIELDS = ("worker_us", "nginx_us", "redis_us", "redis_commands")
_MEMORY = ("record", "limit", "credential")


@dataclasses.dataclass(frozen=True)
class AtRate:
    """Cached vends of one worker at a rate at which hardly one waits for another: how long they take, and their CPU, in µs."""

    rate: float
    p50: float
    p99: float
    worker: float
    nginx: float
    redis: float


_OF_RATE = ("rate", "p50_us", "p99_us", "worker_us", "nginx_us", "redis_us")


class Costs:
    """Measured costs, as `deploy/bench --save-costs` writes them."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        try:
            content = json.loads(self.path.read_text())
        except OSError as error:
            raise WrongInput(f"{path}: {error.strerror}; write one with deploy/bench --save-costs FILE") from None
        except ValueError:
            raise WrongInput(f"{path} is no JSON; write one with deploy/bench --save-costs FILE") from None
        try:
            self.machine, self.date = str(content["machine"]), str(content["date"])
            measured = {name: _numbers(content["scenarios"][name], _FIELDS) for name in _SCENARIOS}
            self.memory = dict(zip(_MEMORY, _numbers(content["redis_bytes"], _MEMORY)))
            self.memory_how = str(content.get("redis_bytes_how", ""))
            self.limit_keys = float(content["redis_keys_per_vend"])
            self.rates = sorted((AtRate(*_numbers(each, _OF_RATE)) for each in content["rates"]), key=lambda each: each.rate)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise WrongInput(f"{path} lacks or has a wrong {error}; write one with deploy/bench --save-costs FILE") \
                from None
        if not self.rates or self.rates[0].rate <= 0:
            raise WrongInput(f"{path} has no rates, or one of nothing; write one with deploy/bench --save-costs FILE")
        if not 0 <= self.limit_keys < 1000:
            raise WrongInput(f"{path} has {self.limit_keys} for redis_keys_per_vend")
        self.vend_cached, self.vend_sts, self.upload = (
            Cost(*measured[name]) for name in ("vend_cached", "vend_sts", "upload"))
        few, many = Cost(*measured["renew_20"]), Cost(*measured["renew_100"])
        # By keys: a line through both batches, or through the larger and nothing, where that would go below nothing.
        line = [((two - one) / 80, one - (two - one) / 4) for one, two in zip(dataclasses.astuple(few), dataclasses.astuple(many))]
        line = [each if each[1] >= 0 else (two / 100, 0) for each, two in zip(line, dataclasses.astuple(many))]
        self.per_key, self.per_batch = (Cost(*each) for each in zip(*line))

    def renewal(self, keys):
        return self.per_batch.plus(self.per_key, keys)

    def vend(self, cached):
        return self.vend_cached.times(cached).plus(self.vend_sts, 1 - cached)

    def at(self, rate):
        """Between two measured rates by the logarithm; above and below all of them as at the nearest."""
        below = max((each for each in self.rates if each.rate <= rate), key=lambda each: each.rate, default=self.rates[0])
        above = next((each for each in self.rates if each.rate > rate), below)
        if above.rate <= below.rate or rate <= below.rate:
            return below
        share = math.log(rate / below.rate) / math.log(above.rate / below.rate)
        return AtRate(*(one + share * (two - one) for one, two in zip(dataclasses.astuple(below), dataclasses.astuple(above))))

    def wakes(self, rate):
        """What a request costs more, at a rate of each worker, than where no process sleeps."""
        at, busy = self.at(rate), self.vend_cached
        return Cost(max(0, at.worker - busy.worker), max(0, at.nginx - busy.nginx), max(0, at.redis - busy.redis), 0)

    def inputs(self):
        """For the list of what a plan is made of."""
        source = f"{self.path.name}: {self.machine}, {self.date}"
        rows = [("vend, cached", self.vend_cached), ("vend, an STS call each", self.vend_sts),
                ("presigned upload", self.upload), ("renewal, per request", self.per_batch),
                ("renewal, per key", self.per_key)]
        found = []
        for title, cost in rows:
            for part, value in (("worker", cost.worker), ("nginx", cost.nginx), ("Redis", cost.redis)):
                found.append(Input(f"{title}: {part}", round(value, 2), "µs of CPU", "measured", source))
            found.append(Input(f"{title}: Redis commands", round(cost.commands, 2), "", "measured", source))
        for each in self.rates:
            for part, value in (("worker", each.worker), ("nginx", each.nginx), ("Redis", each.redis)):
                found.append(Input(f"vend, cached, at {plain(each.rate)}/s: {part}", value, "µs of CPU", "measured", source))
        for name, value in self.memory.items():
            found.append(Input(f"Redis: {name}", value, "bytes/key", "measured", self.memory_how or source))
        found.append(Input("Redis: keys of limits that a vend leaves", self.limit_keys, "", "measured", source))
        found.append(Input("Redis: keys of limits that an upload or a renewal leaves", WINDOWS_OF_A_REQUEST, "", "measured",
                           "KEYS of Redis 7.0 after requests of one user each"))
        found.append(Input("worker: an entry of its cache", ENTRY_BYTES, "bytes", "measured",
                           "VmRSS of a worker, vends of 6,000 users more"))
        for name, value in STREAM_BYTES.items():
            found.append(Input(f"Redis: {name.replace('_', ' ')} of a stream", value, "bytes", "measured",
                               "MEMORY USAGE of Redis 7.0"))
        for table, what, scripts in ((SHARED_COMMANDS, "of shared credentials", "SharedCredentialCache"),
                                     (STREAM_COMMANDS, "of a stream", "AuditStream and EventStream")):
            for name, value in table.items():
                found.append(Input(f"Redis commands: {name.replace('_', ' ')} {what}", value, "", "assumed",
                                   f"counted in the scripts of {scripts}"))
        return found


def _numbers(table, names):
    values = [float(table[name]) for name in names]
    for name, value in zip(names, values):
        if not math.isfinite(value) or not 0 <= value < 1e9:
            raise ValueError(f"{name}: {value}")
    return values

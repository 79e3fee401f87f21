"""What requests cost, in the file that deploy/simulate reads."""

import datetime
import json
import socket
import statistics
import subprocess

import generator
import load
from processes import NotMeasured, cpu_by_thread

SCENARIOS = ("vend_cached", "vend_sts", "upload", "renew_20", "renew_100")
_MANY = "vend_sts"          # has this many users, each with a device of its own
_USERS = 1000
_RATES = (125, 250, 500, 1000, 2000)    # at which hardly a request waits for another
_ROUNDS, _SECONDS = 3, 6                # of each rate: a p99 needs many requests
_ROLES = ("worker", "nginx", "redis")
_SAMPLES = 200


class RedisCounter:
    """Commands that Redis has run, those within scripts included."""

    def __init__(self, path):
        self._path = str(path)

    def commands(self):
        text = self.ask("INFO", "stats").decode()
        return int(next(line.split(":")[1] for line in text.splitlines() if line.startswith("total_commands_processed:")))

    def ask(self, *words):
        """A number, or the bytes of a string; an array as the bytes of its strings."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(self._path)
            connection.sendall(b"*%d\r\n" % len(words) + b"".join(
                b"$%d\r\n%s\r\n" % (len(each), each) for each in (
                    word if isinstance(word, bytes) else str(word).encode() for word in words)))
            with connection.makefile("rb") as stream:
                return _reply(stream)


def _reply(stream):
    kind, rest = (line := stream.readline())[:1], line[1:].rstrip()
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return stream.read(int(rest) + 2)[:-2] if int(rest) >= 0 else None
    if kind == b"*":
        return [_reply(stream) for _ in range(int(rest))]
    if kind == b"+":
        return rest
    raise NotMeasured(f"Redis says {line!r}")


def limit_keys(redis, port, requests, connections):
    """(keys of limits that a vend with a call of STS leaves, bytes of one)."""
    redis.ask("FLUSHALL")
    sent = 0
    while sent < _USERS:
        sent += load.run(port, requests, connections, 1)["requests"]
    keys = redis.ask("DBSIZE") / _USERS
    return keys, _mean_bytes(redis, [redis.ask("RANDOMKEY") for _ in range(_SAMPLES)])


def at_rates(parts, name, port, watched, is_quick):
    """For each of some rates the medians of rounds: p50 and p99 in µs, and by role the µs of CPU of a request.

    `watched` are processes by role. A quick run has the lowest rates alone, and takes what it gets, also where the generator was late."""
    rates, rounds, seconds = (_RATES[:2], 1, 1) if is_quick else (_RATES, _ROUNDS, _SECONDS)
    watched = {role: watched[role] for role in _ROLES}
    options = ["--users", 64, "--duration", f"{seconds}s", "--warm-up", "0s"]
    found = {rate: [] for rate in rates}
    for _ in range(rounds):
        for rate, numbers in found.items():
            def load():
                before = {role: sum(cpu_by_thread(pid).values()) for role, pid in watched.items()}
                report = generator.open_loop(parts, name, port, rate, *options)
                return report, {role: sum(cpu_by_thread(pid).values()) - before[role] for role, pid in watched.items()}
            step, spent = generator.valid(f"costs: at {rate}/s", load, is_strict=not is_quick)
            numbers.append({**{f"{each}_us": step["latency"][each] * 1e3 for each in ("p50", "p99")},
                            **{f"{role}_us": each / 1e3 / step["requests"] for role, each in spent.items()}})
    return [{"rate": rate, **{key: round(statistics.median(each[key] for each in numbers), 1) for key in numbers[0]}}
            for rate, numbers in found.items()]


def record_bytes(parts, redis, name, upstream):
    """Of users with a tier and the end of a subscription, written as an operator does."""
    arguments, environment, _ = parts.worker_command(name, upstream)
    settings = arguments[-1]
    redis.ask("FLUSHALL")
    for number in range(20):
        finished = subprocess.run(
            [parts.worker, "user", "set", f"u_{number:08}", "--tier", "free", "--subscription-end", "+1h", settings],
            env=environment, capture_output=True, text=True, timeout=20)
        if finished.returncode != 0:
            raise NotMeasured(f"user set: {finished.stderr.strip()}")
    return _mean_bytes(redis, redis.ask("KEYS", "*user:*"))


def credential_bytes(redis, ask):
    """Of what workers share; `ask` sends a vend to one that does."""
    redis.ask("FLUSHALL")
    ask()
    return _mean_bytes(redis, redis.ask("KEYS", "*cred:*"))


def _mean_bytes(redis, keys):
    sizes = [redis.ask("MEMORY", "USAGE", each, "SAMPLES", 0) for each in keys]
    if not sizes:
        raise NotMeasured("Redis has none of the keys whose memory was to be measured")
    return sum(sizes) / len(sizes)


def document(machine, how, results, rounds, rates, keys, sizes):
    """The file's content. `results` are summaries by scenario, `rounds` the single rounds, `rates` those of `at_rates`."""
    scenarios = {}
    for name in SCENARIOS:
        cpu = results[name]["cpu"]
        commands = sum(each["commands"] for each in rounds[name]) / sum(each["requests"] for each in rounds[name])
        scenarios[name] = {**{f"{role}_us": round(cpu[role] * 100, 2) for role in _ROLES},
                           "redis_commands": round(commands, 3)}
    record, limit, credential = sizes
    return json.dumps({
        "machine": machine, "date": datetime.date.today().isoformat(), "how": how, "scenarios": scenarios,
        "rates": rates,
        "redis_bytes": {"record": round(record), "limit": round(limit), "credential": round(credential)},
        "redis_keys_per_vend": round(keys, 2)}, indent=1, ensure_ascii=False) + "\n"

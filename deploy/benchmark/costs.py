"""What requests cost, in the file that deploy/simulate reads."""

import datetime
import json
import statistics
import subprocess

import generator
import load
import memory
from processes import NotMeasured, cpu_by_thread

SCENARIOS = ("vend_cached", "vend_sts", "upload", "renew_20", "renew_100")
_MANY = "vend_sts"          # has this many users, each with a device of its own
_USERS = 1000
_RATES = (125, 250, 500, 1000, 2000)    # at which hardly a request waits for another
_ROUNDS, _SECONDS = 3, 6                # of each rate: a p99 needs many requests
_ROLES = ("worker", "nginx", "redis")
_SAMPLES = 200


def limit_keys(parts, redis, port, requests, connections):
    """(keys of limits that a vend with a call of STS leaves, bytes of one)."""
    redis.ask("FLUSHALL")
    sent = 0
    while sent < _USERS:
        sent += load.run(port, requests, connections, 1)["requests"]
    keys = redis.ask("DBSIZE") / _USERS
    return keys, memory.bytes_of_key(parts, redis, [redis.ask("RANDOMKEY") for _ in range(_SAMPLES)])


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
    return memory.bytes_of_key(parts, redis, redis.ask("KEYS", "*user:*"))


def credential_bytes(parts, redis, vend):
    """Of what workers share; `vend` sends a vend to one that does."""
    redis.ask("FLUSHALL")
    vend()
    return memory.bytes_of_key(parts, redis, redis.ask("KEYS", "*cred:*"))


def document(machine, how, results, rounds, rates, keys, sizes, redis_version):
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
        "redis_bytes_how": f"used_memory of Redis {redis_version}, over {memory.KEYS:,} keys of a kind: with their places in Redis' "
                           "tables, just after these have grown",
        "redis_bytes": {"record": round(record), "limit": round(limit), "credential": round(credential)},
        "redis_keys_per_vend": round(keys, 2)}, indent=1, ensure_ascii=False) + "\n"

"""Rounds of load, and what the processes used meanwhile."""

import re
import statistics
import subprocess
import time
import urllib.request

import fastcgi
import load
from processes import NotMeasured, cpu_by_thread, memory_megabytes


def one_round(scenario, port, requests, seconds, watched):
    """One wrk run. `watched` is {role: process id}; adds to wrk's numbers CPU-seconds per 10,000 requests by role."""
    handled = _handled_keys(port) if scenario.keys else 0
    before = {role: cpu_by_thread(pid) for role, pid in watched.items()}
    numbers = load.run(port, requests, scenario.connections, seconds)
    after = {role: cpu_by_thread(pid) for role, pid in watched.items()}
    if scenario.keys:
        # The round ends in the middle of many batches, whose keys cost as much as those of batches that were answered.
        numbers["key"] = sum(spent - before["worker"].get(thread, 0) for thread, spent in after["worker"].items()) \
            / 1e3 / max(1, _handled_keys(port) - handled)
    used = {role: [spent - before[role].get(thread, 0) for thread, spent in after[role].items()] for role in watched}
    numbers["cpu"] = {role: sum(spent) / 1e9 / numbers["requests"] * 10_000 for role, spent in used.items()}
    numbers["busy"] = {role: sum(spent) / 1e9 / numbers["seconds"] for role, spent in used.items()}
    # A thread works when it has at least a hundredth of the process's CPU time.
    numbers["threads"] = sum(1 for spent in used["worker"] if spent * 100 >= sum(used["worker"]) and spent > 0)
    numbers["rate"] = numbers["requests"] / numbers["seconds"]
    return numbers


def copy_floor(program, port, at_once):
    """Microseconds of CPU for one copy in C through libcurl, against the same canned S3."""
    try:
        finished = subprocess.run([program, str(port), str(at_once), "20000"], capture_output=True, text=True,
                                  timeout=60)
    except subprocess.TimeoutExpired:
        raise NotMeasured("floor_curl did not end") from None
    if finished.returncode != 0:
        raise NotMeasured(f"floor_curl: {finished.stderr.strip() or finished.returncode}")
    return float(finished.stdout)


def _handled_keys(port):
    """How many keys the worker has renewed, and images it has released, since it started, by its own counters."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return sum(int(number) for number in re.findall(
        r'^cloakroom_(?:renewals_total\{outcome="renewed"|releases_total\{outcome="released")\} (\d+)$', text, re.MULTILINE))


def summary(rounds):
    """Medians over the rounds; errors are added up, and the greatest number of threads counts."""
    def median(value):
        return statistics.median(value(each) for each in rounds)
    return {
        **{key: median(lambda each, key=key: each[key]) for key in ("rate", "p50", "p99")},
        "cpu": {role: median(lambda each, role=role: each["cpu"][role]) for role in rounds[0]["cpu"]},
        "busy": {role: median(lambda each, role=role: each["busy"][role]) for role in rounds[0]["busy"]},
        **{key: median(lambda each, key=key: each[key]) for key in ("key", "floor") if key in rounds[0]},
        "requests": sum(each["requests"] for each in rounds),
        "errors": sum(each["errors"] for each in rounds),
        "threads": max(each["threads"] for each in rounds),
    }


def ratios(turns, name, floor, roles):
    """CPU of some roles over that of the floor, one ratio for each time the two were measured beside each other.

    `turns` are lists of (name, result), in the order in which they were measured.
    """
    def cpu(result):
        return sum(result["cpu"][role] for role in roles)
    pairs = [dict(neighbours) for turn in turns for neighbours in zip(turn, turn[1:])]
    return [cpu(pair[name]) / cpu(pair[floor]) for pair in pairs if pair.keys() == {name, floor}]


def microseconds_above(rounds, others, role):
    """CPU microseconds per request above those of other rounds, each against its neighbour in time: the median."""
    return statistics.median(
        (each["cpu"][role] - other["cpu"][role]) * 1e6 / 10_000 for each, other in zip(rounds, others))


def start_and_rest(parts, upstream_port, times):
    """Starts a worker several times: (median milliseconds until it answers on its socket, median MB at rest)."""
    arguments, environment, path = parts.worker_command("start", upstream_port)
    milliseconds, megabytes = [], []
    for _ in range(times):
        path.unlink(missing_ok=True)
        began = time.perf_counter()
        worker = parts.start("start", arguments, environment)
        while not fastcgi.answers(path):
            if not worker.running() or time.perf_counter() - began > 10:
                raise NotMeasured(f"the worker does not answer: {worker.last_words()}")
            time.sleep(0.0005)
        milliseconds.append((time.perf_counter() - began) * 1000)
        time.sleep(0.2)
        megabytes.append(memory_megabytes(worker.pid))
        worker.stop()
    return statistics.median(milliseconds), statistics.median(megabytes)

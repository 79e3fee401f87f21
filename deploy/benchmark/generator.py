"""What `cloakroom load` costs a request, and whether it measures what wrk does where wrk can be trusted."""

import json
import os
import statistics
import subprocess

import load
import stack
from processes import NotMeasured
from scenarios import Scenario, has_credentials, vend

_USERS = 64
_LONGEST = 60           # seconds, of one run
_CONNECTIONS = 32       # of wrk, each with a request that takes as long as STS does


def beside_wrk(parts, upstream, pairs, seconds):
    """(CPU µs of the generator per request, those in user land, its p50 over wrk's), one each for every pair.

    STS takes its time, so that a server which waits is measured, and none of the two adds much of its own. wrk says how
    many requests a second its closed loop reaches; the open loop then sends as many.
    """
    if not parts.worker:
        raise NotMeasured("load: there is no worker")
    name = "generator"
    parts.start_worker(name, upstream, credential_cache=False)
    ports, _ = parts.start_front({name: True}, "front-generator")
    scenario = Scenario(name, "", [vend(f"u_{n}", f"device_{n}") for n in range(_USERS)], has_credentials)
    requests = scenario.write(parts.run)
    scenario.check(ports[name])
    costs, own, ratios = [], [], []
    for _ in range(pairs):
        closed = load.run(ports[name], requests, _CONNECTIONS, seconds)
        if closed["errors"]:
            raise NotMeasured(f"load: {closed['errors']} of wrk's {closed['requests']} requests failed")
        rate = round(closed["requests"] / closed["seconds"])
        def load_beside():
            report = open_loop(parts, name, ports[name], rate, "--users", _USERS, "--duration", f"{seconds}s", "--warm-up", "1s")
            return report, report["generator"]
        step, own_cost = valid("load", load_beside)
        costs.append(own_cost["cpuMicrosecondsPerRequest"])
        own.append(own_cost["userMicrosecondsPerRequest"])
        ratios.append(step["latency"]["p50"] / closed["p50"])
    return costs, own, ratios


def note(costs, own, ratios):
    return (f"load: the generator took {min(costs):.1f} to {max(costs):.1f} µs of CPU a request, {min(own):.1f} to "
            f"{max(own):.1f} of them in user land, and its p50 was "
            f"{min(ratios):.3f} to {max(ratios):.3f} of wrk's ({len(costs)} pairs, median {statistics.median(ratios):.3f}).")


def valid(what, load, is_strict=True):
    """(what `load` measured of all requests, what it gives besides), of the first of three runs in which the generator was in time.

    `load()` gives a report of ``open_loop`` and something else."""
    for _ in range(3):
        report, more = load()
        step = report["steps"][0]["all"]
        if step["errors"]:
            raise NotMeasured(f"{what}: {step['errors']} of {step['requests']} requests failed")
        if report["valid"] or not is_strict:
            return step, more
    raise NotMeasured(f"{what}: {'; '.join(report['doubts'])}")


def open_loop(parts, name, port, rate, *options):
    """The report of one `cloakroom load`, for the settings of the worker of that name."""
    path = parts.run / "load.json"
    path.unlink(missing_ok=True)
    command = [parts.worker, "load", "--settings", parts.run / f"{name}.json5", "--rate", rate, "--json", path, *options,
               f"http://127.0.0.1:{port}"]
    try:
        finished = subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=_LONGEST,
                                  env={**os.environ, **stack.environment()})
    except subprocess.TimeoutExpired:
        raise NotMeasured("cloakroom load did not end") from None
    if not path.exists():
        raise NotMeasured(f"cloakroom load: {(finished.stderr or finished.stdout).strip()[-200:]}")
    return json.loads(path.read_text())

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
        report = _open_loop(parts, ports[name], name, rate, seconds)
        step = report["steps"][0]
        if step["all"]["errors"]:
            raise NotMeasured(f"load: {step['all']['errors']} of {step['all']['requests']} requests failed")
        if not report["valid"]:
            raise NotMeasured(f"load: {'; '.join(report['doubts'])}")
        costs.append(report["generator"]["cpuMicrosecondsPerRequest"])
        own.append(report["generator"]["userMicrosecondsPerRequest"])
        ratios.append(step["all"]["latency"]["p50"] / closed["p50"])
    return costs, own, ratios


def note(costs, own, ratios):
    return (f"load: the generator took {min(costs):.1f} to {max(costs):.1f} µs of CPU a request, {min(own):.1f} to "
            f"{max(own):.1f} of them in user land, and its p50 was "
            f"{min(ratios):.3f} to {max(ratios):.3f} of wrk's ({len(costs)} pairs, median {statistics.median(ratios):.3f}).")


def _open_loop(parts, port, name, rate, seconds):
    path = parts.run / "load.json"
    path.unlink(missing_ok=True)
    command = [parts.worker, "load", "--settings", parts.run / f"{name}.json5", "--users", _USERS, "--rate", rate,
               "--duration", f"{seconds}s", "--warm-up", "1s", "--json", path, f"http://127.0.0.1:{port}"]
    try:
        finished = subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=seconds + 40,
                                  env={**os.environ, **stack.environment()})
    except subprocess.TimeoutExpired:
        raise NotMeasured("cloakroom load did not end") from None
    if not path.exists():
        raise NotMeasured(f"cloakroom load: {(finished.stderr or finished.stdout).strip()[-200:]}")
    return json.loads(path.read_text())

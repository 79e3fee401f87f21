"""How long `/status` takes while the workers have all the load that they can take."""

import concurrent.futures
import json
import statistics
import time
import urllib.request

import load
from processes import NotMeasured
from scenarios import Scenario, has_credentials, vend

_CONNECTIONS = 64       # of wrk, each with a request at all times
_USERS = 64
_PAUSE = 0.01           # between two looks; a page has one a second


def milliseconds(parts, upstream, seconds):
    """What each look took, from nginx's port and back, and how many requests a second were handled beside them."""
    name = "status"
    parts.start_worker(name, upstream)
    ports, _ = parts.start_front({name: True}, "front-status")
    scenario = Scenario(name, "", [vend(f"u_{n % 8}", f"device_{n}") for n in range(_USERS)], has_credentials)
    requests = scenario.write(parts.run)
    scenario.check(ports[name])
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        running = executor.submit(load.run, ports[name], requests, _CONNECTIONS, seconds)
        time.sleep(1)
        taken = []
        while not running.done():
            begun = time.perf_counter()
            _look(ports[name])
            taken.append((time.perf_counter() - begun) * 1000)
            time.sleep(_PAUSE)
        beside = running.result()
    if beside["errors"]:
        raise NotMeasured(f"status: {beside['errors']} of {beside['requests']} requests beside it failed")
    # Of fewer the 99th percentile says little.
    if len(taken) < 100:
        raise NotMeasured(f"status: only {len(taken)} looks in {seconds} s")
    return taken, beside["requests"] / beside["seconds"]


def p99(taken):
    return statistics.quantiles(taken, n=100)[98]


def note(taken, rate):
    return (f"status: {len(taken)} responses took {statistics.median(taken):.1f} ms in the median, {p99(taken):.1f} ms at the "
            f"99th percentile and {max(taken):.1f} ms at most, beside {rate:,.0f} vends a second.")


def _look(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=10) as response:
            status = json.load(response)
    except (OSError, ValueError) as error:
        raise NotMeasured(f"status: {error}") from None
    if not status["workers"]:
        raise NotMeasured("status: no worker tells of itself")

"""What a cached vend costs a worker in STS' own wire, over what it costs in JSON."""

import urllib.parse

import load
import measure
from processes import NotMeasured
from scenarios import Request, Scenario, has_credentials, vend

_USERS = 8
_DEVICES = 64


def sts_over_json(parts, upstream, pairs, seconds):
    """Worker's CPU per vend through `/sts` over that through `sts-token`: a ratio for each pair of neighbours, of one worker.

    Every other pair goes backwards.
    """
    if not parts.worker:
        raise NotMeasured("clients: there is no worker")
    worker = parts.start_worker("wires", upstream)
    ports, _ = parts.start_front({"wires": True}, "front-wires")
    json = [vend(f"u_{n % _USERS}", f"device_{n}") for n in range(_DEVICES)]
    scenarios = {"json": Scenario("wire-json", "", json, has_credentials),
                 "sts": Scenario("wire-sts", "", [_of_sts(each) for each in json], _has_credentials)}
    files = {}
    for name, scenario in scenarios.items():
        files[name] = scenario.write(parts.run)
        scenario.check(ports["wires"])
        load.run(ports["wires"], files[name], scenario.connections, 1)      # fills the cache
    ratios = []
    for pair in range(pairs):
        cpu = {}
        for name in sorted(scenarios, reverse=bool(pair % 2)):
            result = measure.one_round(scenarios[name], ports["wires"], files[name], seconds, {"worker": worker.pid})
            if result["errors"]:
                raise NotMeasured(f"wire-{name}: {result['errors']} of {result['requests']} requests failed")
            cpu[name] = result["cpu"]["worker"]
        ratios.append(cpu["sts"] / cpu["json"])
    worker.stop()
    return ratios


def _of_sts(request):
    """The same as botocore sends it."""
    token = request.headers["Authorization"].removeprefix("Bearer ")
    form = {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleSessionName": "botocore-session-1",
            "WebIdentityToken": token}
    return Request("POST", "/sts", {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"},
                   urllib.parse.urlencode(form).encode())


def _has_credentials(body):
    return b"<AccessKeyId>ASIAIOSFODNN7EXAMPLE</AccessKeyId>" in body

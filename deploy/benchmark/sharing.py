"""How often STS is asked when several workers share what they vended."""

import time

import canned
import load
from processes import NotMeasured
from scenarios import Scenario, has_credentials, vend

_WORKERS = 3
_SUBJECTS = 1000
_FEW_SUBJECTS = 100
_FEW_SUBJECTS_REQUESTS = 10_000
_LIFETIME = 7           # seconds, of the credentials that end together


def at_expiry(parts, slow):
    """The credentials of a thousand clients, one subject each, end in the same second: calls of STS per subject."""
    port = _workers(parts, "expiry", slow)
    scenario = Scenario("expiry", "", [vend(f"u_e{n}", f"device_{n}") for n in range(_SUBJECTS)], has_credentials)
    requests = scenario.write(parts.run)
    canned.ask_slow(slow, f"expire/{_LIFETIME}")
    end = time.monotonic() + _LIFETIME
    try:
        _without_errors("expiry, before", load.run(port, requests, _SUBJECTS, 2), _SUBJECTS)
    finally:
        canned.ask_slow(slow, "expire/3600")
    time.sleep(max(0, end + 1 - time.monotonic()))
    canned.reset_slow(slow)
    _without_errors("expiry", load.run(port, requests, _SUBJECTS, 2), _SUBJECTS)
    return canned.ask_slow(slow)["posts"] / _SUBJECTS


def for_few_subjects(parts, slow):
    """Ten thousand requests of a hundred subjects: calls of STS."""
    port = _workers(parts, "subjects", slow)
    scenario = Scenario("subjects", "", [vend(f"u_f{n}", f"device_{n}") for n in range(_FEW_SUBJECTS)], has_credentials)
    requests = scenario.write(parts.run)
    canned.reset_slow(slow)
    answered = 0
    while answered < _FEW_SUBJECTS_REQUESTS:
        answered += _without_errors("subjects", load.run(port, requests, 64, 1), _FEW_SUBJECTS)
    return canned.ask_slow(slow)["posts"]


def _workers(parts, name, slow):
    if not parts.worker:
        raise NotMeasured(f"{name}: there is no worker")
    names = [f"{name}-{number}" for number in range(1, _WORKERS + 1)]
    for each in names:
        parts.start_worker(each, slow, shares=True)
    return parts.start_front_of_several(name, names)


def _without_errors(name, result, least):
    if result["errors"] or result["requests"] < least:
        raise NotMeasured(f"{name}: {result['errors']} of {result['requests']} requests failed")
    return result["requests"]

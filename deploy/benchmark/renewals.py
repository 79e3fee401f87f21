"""Renewals before an S3 that takes its time, and before one that does badly."""

import concurrent.futures
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import load
from processes import NotMeasured, memory_megabytes
from scenarios import Scenario, renewal, renewals, renewed
from stack import S3_REGION

_LONGEST_CHECK = 150        # seconds, for all keys whose results are checked
_BATCH = 100
_CLIENTS = 16
_EVERY_MISSING = 10         # of the keys that are asked for, one in so many has no object
# How a worker tells of keys that still fail after retries, and what share of S3's answers is a fault meanwhile. A
# client that is told to try again does so, twice.
_WAYS = [("retry", 0.02), ("report", 0.03)]
_TRIES = 3


def batches_and_single_keys(parts, slow, seconds):
    """Batches of 100 of one client; then one key at a time, alone and beside 64 clients with such batches.

    Gives (median ms of a batch, p99 ms of a key alone, the same beside batches, MB the worker had at most).
    """
    if not parts.worker:
        raise NotMeasured("renew_beside: there is no worker")
    worker = parts.start_worker("renew_beside", slow)
    port = parts.start_front_of_several("renew_beside", ["renew_beside"])
    scenarios = {
        "batches": Scenario("renew_beside_batches", "", renewals(_BATCH), renewed(_BATCH)),
        "key": Scenario("renew_beside_key", "", [renewal(_BATCH, "single")], renewed(1)),
    }
    files = {}
    for name, each in scenarios.items():
        each.check(port)
        files[name] = each.write(parts.run)
    batch = _run("a batch", port, files["batches"], 1, seconds)["p50"]
    alone = _run("a key alone", port, files["key"], 1, seconds)["p99"]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        crowd = pool.submit(_run, "64 clients", port, files["batches"], 64, seconds + 2)
        time.sleep(1)
        beside = _run("a key beside batches", port, files["key"], 1, seconds)["p99"]
        crowd.result()
    return batch, alone, beside, memory_megabytes(worker.pid, "VmHWM")


def _run(name, port, requests, clients, seconds):
    result = load.run(port, requests, clients, seconds)
    if result["errors"]:
        raise NotMeasured(f"{name}: {result['errors']} of {result['requests']} requests failed")
    return result


def false_outcomes(parts, keys):
    """Renews so many keys under faults at random: (false words, what was said, faults met).

    A key said to be renewed was not touched, or one said to be gone is there: that is a false word.
    """
    if not parts.worker:
        raise NotMeasured("renew_false: there is no worker")
    deadline = time.monotonic() + _LONGEST_CHECK
    said, false, met = {}, [], {}
    for way, share in _WAYS:
        port = parts.start_scripted_s3(f"scripted-{way}")
        name = f"renew_false_{way}"
        parts.start_worker(name, port, region=S3_REGION, timeout=1000, partial_failure=way, minimum_age=86_400)
        front = parts.start_front_of_several(name, [name])
        count = keys // len(_WAYS)
        began = time.time()
        _control(port, "PUT", "objects", prefix=way, count=count, age=10 * 86_400, missing=_EVERY_MISSING)
        _control(port, "PUT", "mix", share=share, seed=4)
        words = _ask_for_all(front, [f"{way}{number:06}.bin" for number in range(count)], deadline)
        there = dict(_true(line) for line in
                     _control(port, "GET", "truth", prefix=way, after=began - 1).decode().splitlines())
        for key, word in words.items():
            said[word] = said.get(word, 0) + 1
            if word == "renewed" and not there.get(key) or word == "not_found" and key in there:
                false.append(key)
        for fault, times in json.loads(_control(port, "GET", "counts"))["faults"].items():
            met[fault] = met.get(fault, 0) + times
    return false, said, met


def _true(line):
    key, _, touched = line.split()
    return key, touched == "1"


def _ask_for_all(port, keys, deadline):
    """What was said of each key: `renewed`, its error, or `nothing` when the whole batch was refused."""
    batches = [keys[start:start + _BATCH] for start in range(0, len(keys), _BATCH)]
    words, lock = {}, threading.Lock()

    def ask(number):
        said = dict.fromkeys(batches[number], "nothing")
        for _ in range(_TRIES):
            if time.monotonic() > deadline:
                raise NotMeasured(f"renew_false: only {len(words)} of {len(keys)} keys within {_LONGEST_CHECK} s")
            results = _results(port, renewal(number % 64, *batches[number]))
            if results is not None:
                said = {each["key"]: "renewed" if each["success"] else each["error"] for each in results}
                break
        with lock:
            words.update(said)

    with concurrent.futures.ThreadPoolExecutor(_CLIENTS) as pool:
        for done in [pool.submit(ask, number) for number in range(len(batches))]:
            done.result()
    return words


def _results(port, asked):
    """The results of a batch; None when it was refused as a whole."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{asked.path}", method=asked.method,
                                     headers=asked.headers, data=asked.body)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["results"]
    except urllib.error.HTTPError as error:
        if error.code not in (500, 503):
            raise NotMeasured(f"renew_false: status {error.code}: {error.read(200)!r}") from None
        error.read()
        return None


def _control(port, method, path, **parameters):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/_scripted/{path}?{urllib.parse.urlencode(parameters)}", method=method,
        data=b"" if method == "PUT" else None)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()

"""Instructions in user land for one request: time, and what else runs, do not enter.

callgrind counts them, and not the processor's counters, which many virtual machines lack: it gives the instructions of
each function, so that SHA-256's can be left out, and a program finds much the same processor on every machine.
"""

import dataclasses
import http.client
import itertools
import shutil
import socket
import statistics
import time

import canned
import fastcgi
from processes import NotMeasured, wait_until
from scenarios import all_scenarios

_START_SECONDS, _ANSWER_SECONDS, _STOP_SECONDS = 60, 60, 60     # callgrind slows what it counts about fiftyfold
# A worker takes callgrind's memory for what a peak left, and forgets its tokens then, once in ten minutes. It looks every
# five seconds, twice.
_TRIM_SECONDS = 12


@dataclasses.dataclass(frozen=True)
class _Count:
    """Each client sends a request, and when all have their answers, the next; the upstream answers all calls of such a
    round together. So a turn of the loop serves as many in every run, however slow the machine is."""
    scenario: str
    clients: int
    warm_up: int            # rounds, until caches are full
    counted: int            # rounds
    calls: int = 0          # of STS or S3 that a round has open at once
    trimmed_after: int = 0  # rounds of the warm-up, behind which callgrind's memory is taken for a peak
    digests: bool = True    # does a request compute any?

    @property
    def value(self):
        return "renew_key_instructions" if self.scenario.startswith("renew") else f"{self.scenario}_instructions"


COUNTS = [
    _Count("healthz", 64, 8, 64, digests=False),
    _Count("vend_cached", 64, 8, 48),
    # 1,000 tokens take turns: all are known after the warm-up's last 16 rounds.
    _Count("vend_sts", 64, 24, 32, calls=64, trimmed_after=8),
    _Count("renew_100", 1, 8, 40, calls=100),
]


@dataclasses.dataclass(frozen=True)
class Counted:
    """Instructions of one request or one renewed key."""
    others: list            # one of each count
    blocks: float           # of SHA-256's block functions, which are not among the others


class Instructions:
    """Workers under callgrind, one after the other, behind one nginx."""

    def __init__(self, parts):
        if not parts.worker:
            raise NotMeasured("instructions: there is no worker")
        if not shutil.which("valgrind"):
            raise NotMeasured("instructions: there is no valgrind")
        self._parts = parts
        self._upstream = parts.start_slow(0)
        self._scenarios = {each.name: each for each in all_scenarios()}
        self._ports, _ = parts.start_front({each.scenario: True for each in COUNTS})

    def per_request(self, count, times):
        """`Counted`, so many times.

        Each time two workers serve the same requests, one of them more: what start, warm-up and end cost is no part of
        the difference.
        """
        scenario = self._scenarios[count.scenario]
        units = count.clients * count.counted * (scenario.keys or 1)
        others, blocks = [], []
        for _ in range(times):
            short, long = (self._served(count, scenario, rounds)
                           for rounds in (count.warm_up, count.warm_up + count.counted))
            others.append((long.others - short.others) / units)
            blocks.append((long.blocks - short.blocks) / units)
        if count.digests and min(blocks) <= 0:
            raise NotMeasured(f"{count.scenario}: callgrind shows no block function below SHA256_Update")
        return Counted(others, statistics.median(blocks))

    def _served(self, count, scenario, rounds):
        """What one worker executed from its start to its end, with so many rounds between."""
        arguments, environment, path = self._parts.worker_command(
            count.scenario, self._upstream, credential_cache=scenario.credential_cache, records=scenario.records,
            slowed=True)
        output = self._parts.run / f"{count.scenario}.callgrind"
        for each in (path, output):
            each.unlink(missing_ok=True)
        worker = self._parts.start(f"{count.scenario}-callgrind", [*_CALLGRIND, f"--callgrind-out-file={output}",
                                                                   *arguments], environment)
        try:
            wait_until(lambda: fastcgi.answers(path), worker, _START_SECONDS)
            self._serve(count, scenario, rounds)
        finally:
            worker.stop(_STOP_SECONDS)
        try:
            return Profile(output)
        except (OSError, ValueError, IndexError) as fault:
            raise NotMeasured(f"{count.scenario}: callgrind's output cannot be read: {fault}; "
                              f"{worker.last_words()}") from None

    def _serve(self, count, scenario, rounds):
        """Rounds of requests over kept connections, in the order of the scenario; every answer is checked."""
        requests = itertools.cycle(each.raw() for each in scenario.requests)
        address = ("127.0.0.1", self._ports[count.scenario])
        connections = [socket.create_connection(address, _ANSWER_SECONDS) for _ in range(count.clients)]
        try:
            for round_ in range(rounds):
                if round_ and round_ == count.trimmed_after:
                    time.sleep(_TRIM_SECONDS)
                if count.calls:
                    canned.ask_slow(self._upstream, f"hold/{count.calls}")
                for connection in connections:
                    connection.sendall(next(requests))
                for connection in connections:
                    _check(scenario, connection)
        finally:
            for connection in connections:
                connection.close()


def _check(scenario, connection):
    """Reads one answer."""
    try:
        with http.client.HTTPResponse(connection) as answer:
            answer.begin()
            body = answer.read()
            right = answer.status == 200 and scenario.right(body)
    except (http.client.HTTPException, ValueError, KeyError, TypeError) as fault:
        raise NotMeasured(f"{scenario.name}: not an answer: {fault!r}") from None
    if not right:
        raise NotMeasured(f"{scenario.name}: not the expected answer, status {answer.status}: {body[:200]!r}")


_CALLGRIND = ["valgrind", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no", "--dump-line=no"]


class Profile:
    """What a file of callgrind says: instructions, without and within SHA-256's block functions."""

    def __init__(self, path):
        self.blocks = 0
        own, totals, function, callee, called = 0, None, "", "", False
        with open(path) as file:
            for line in file:
                key, equals, value = line.rstrip("\n").partition("=")
                if key == "fn" and equals:
                    function = value
                elif key == "cfn" and equals:
                    callee = value
                elif key == "calls" and equals:
                    called = True
                elif key[:1].isdigit():
                    cost = int(key.split()[1])
                    if not called:
                        own += cost
                    elif function in _DIGEST_FUNCTIONS and _is_block_function(callee):
                        self.blocks += cost
                    called = False
                elif line.startswith("events:") and line.split()[1:] != ["Ir"]:
                    raise ValueError(f"it counts {line.split()[1:]}")
                elif line.startswith("totals:"):
                    totals = int(line.split()[1])
        if totals is None or own != totals:
            raise ValueError(f"its functions' instructions are {own}, not its total of {totals}")
        self.others = totals - self.blocks


# What calls libcrypto's block functions. Those are no exported symbols: callgrind has them by their addresses, or where
# the debug package is installed, by their names.
_DIGEST_FUNCTIONS = ("SHA256_Update", "SHA256_Final", "SHA256_Transform")


def _is_block_function(name):
    return name.startswith(("0x", "sha256_block_data_order"))

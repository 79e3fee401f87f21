"""How long clients of the worker are without Redis when its master is killed, beside how long Redis itself is."""

import http.client
import os
import signal
import statistics
import threading
import time

import redis
from processes import NotMeasured
from redis import command
from scenarios import vend
from stack import free_port

_NAME = "bench"
_LANES = 4
_LONGEST = 60           # seconds, for any state to be reached
_DOWN_AFTER = 1000      # milliseconds; the sentinels' own pings come once a second


def gaps(parts, upstream, rounds):
    """(median of the worker's gap over Redis' own, counts that were acknowledged and lost over all acknowledged)"""
    if not parts.worker:
        raise NotMeasured("redis: there is no worker")
    ratios, lost, acknowledged = [], 0, 0
    for number in range(rounds):
        ratio, lost_now, acknowledged_now = _round(parts, upstream, f"redis-{number}")
        ratios.append(ratio)
        lost += lost_now
        acknowledged += acknowledged_now
    return statistics.median(ratios), lost / acknowledged


def _round(parts, upstream, name):
    servers, sentinels = [free_port() for _ in range(3)], [free_port() for _ in range(3)]
    master = _start(parts, name, servers, sentinels)
    parts.start_worker(name, upstream, redis={
        "sentinels": [f"127.0.0.1:{port}" for port in sentinels], "master": _NAME, "keyPrefix": f"{name}:"})
    load = _Load(parts.start_front_of_several(name, [name]), f"u_{name}")
    _wait("the first vends", lambda: len(load.served) > 200)
    _wait("both replicas", lambda: command(servers[0], "ROLE").count(b"127.0.0.1") == 2)
    time.sleep(1.5)         # the worker asks the master for them once a second
    os.kill(master.pid, signal.SIGKILL)
    killed = time.monotonic()
    writable = _wait("a new master", lambda: next((port for port in servers[1:] if _takes_writes(port)), None))
    redis_gap = time.monotonic() - killed
    _wait("vends after the failover", lambda: load.first_sent_after(killed))
    worker_gap = load.first_sent_after(killed) - killed
    time.sleep(0.5)
    load.stop()
    keys = _words(command(writable, "KEYS", f"{name}:limit:vendAll:*"))
    kept = sum(_number(command(writable, "GET", key)) for key in keys)
    return worker_gap / redis_gap, max(0, len(load.served) - kept), len(load.served)


class _Load:
    """Vends of one user, one after the other on each of a few connections, whatever becomes of them."""

    def __init__(self, port, user):
        self.served = []        # of each that was served: (sent, answered)
        self._stopped = False
        self._lanes = [threading.Thread(target=self._run, args=(port, vend(user, f"device_{n}")), daemon=True)
                       for n in range(_LANES)]
        for lane in self._lanes:
            lane.start()

    def _run(self, port, request):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        while not self._stopped:
            sent = time.monotonic()
            connection.request(request.method, request.path, headers=request.headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                self.served.append((sent, time.monotonic()))
            time.sleep(0.002)

    def first_sent_after(self, moment):
        return next((answered for sent, answered in list(self.served) if sent > moment), None)

    def stop(self):
        self._stopped = True
        for lane in self._lanes:
            lane.join()


def _start(parts, name, servers, sentinels):
    """A master, two replicas and three sentinels. Gives the master's process."""
    folder = parts.run
    for index, port in enumerate(servers):
        process = redis.start(parts, name, port, "--repl-diskless-sync-delay", "0",
                              *(["--replicaof", "127.0.0.1", servers[0]] if index else []))
        master = process if not index else master
    for port in sentinels:
        identifier = {each: f"{each:040}" for each in sentinels}
        lines = [f"port {port}", "bind 127.0.0.1", f"dir {folder}", f"sentinel myid {identifier[port]}",
                 f"sentinel monitor {_NAME} 127.0.0.1 {servers[0]} 2",
                 f"sentinel down-after-milliseconds {_NAME} {_DOWN_AFTER}",
                 *(f"sentinel known-replica {_NAME} 127.0.0.1 {each}" for each in servers[1:]),
                 *(f"sentinel known-sentinel {_NAME} 127.0.0.1 {each} {identifier[each]}"
                   for each in sentinels if each != port)]
        file = folder / f"{port}.conf"
        file.write_text("\n".join(lines) + "\n")
        redis.started(parts.start(f"{name}-{port}", ["redis-server", file, "--sentinel"]), port)
    return master


def _wait(what, state):
    deadline = time.monotonic() + _LONGEST
    while not (found := state()):
        if time.monotonic() > deadline:
            raise NotMeasured(f"redis: {what} did not come within {_LONGEST} s")
        time.sleep(0.002)
    return found


def _takes_writes(port):
    return command(port, "SET", "probe", "1") == b"+OK\r\n"


def _words(response):
    """The texts of an array."""
    return response.split(b"\r\n")[2::2]


def _number(response):
    return int(response.split(b"\r\n")[1])

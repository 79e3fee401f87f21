"""What a cached vend costs a worker on a cluster of Redis, over what it costs on one Redis."""


import load
import measure
import redis
from processes import NotMeasured, wait_until
from redis import command
from scenarios import Scenario, has_credentials, vend
from stack import free_port

_SLOTS = 16_384
_PRIMARIES = 3
_USERS = 512            # so that each primary has about as many
_LONGEST = 20           # seconds, until all primaries know each other


def over_single(parts, upstream, pairs, seconds):
    """Worker's CPU per vend on a cluster over that on one Redis, both on TCP: a ratio for each pair of neighbours.

    Every other pair goes backwards.
    """
    if not parts.worker:
        raise NotMeasured("redis: there is no worker")
    single = free_port()
    redis.start(parts, "redis-single", single)
    primaries = _start_cluster(parts)
    places = {"single": {"address": f"127.0.0.1:{single}"},
              "cluster": {"cluster": [f"127.0.0.1:{port}" for port in primaries]}}
    names = {each: f"redis-{each}" for each in places}
    workers = {each: parts.start_worker(names[each], upstream, redis=places[each]) for each in places}
    ports, _ = parts.start_front({name: True for name in names.values()}, "front-redis")
    requests = [vend(f"u_{n}", f"device_{n}") for n in range(_USERS)]
    scenarios = {each: Scenario(names[each], "", requests, has_credentials) for each in places}
    files = {each: scenarios[each].write(parts.run) for each in places}
    for each in places:
        scenarios[each].check(ports[names[each]])
        load.run(ports[names[each]], files[each], scenarios[each].connections, 1)       # fills the cache
    # A worker vends without Redis, too.
    if unused := [port for port in [single, *primaries] if command(port, "DBSIZE") == b":0\r\n"]:
        raise NotMeasured(f"redis: nothing was counted on ports {unused}")
    ratios = []
    for pair in range(pairs):
        cpu = {}
        for each in sorted(places, reverse=bool(pair % 2)):
            result = measure.one_round(scenarios[each], ports[names[each]], files[each], seconds,
                                       {"worker": workers[each].pid})
            if result["errors"]:
                raise NotMeasured(f"{names[each]}: {result['errors']} of {result['requests']} requests failed")
            cpu[each] = result["cpu"]["worker"]
        ratios.append(cpu["cluster"] / cpu["single"])
    for worker in workers.values():
        worker.stop()
    return ratios


def _start_cluster(parts):
    """Primaries without replicas. Gives their ports."""
    ports = [free_port() for _ in range(_PRIMARIES)]
    # The port by default, 10,000 above, may be one the kernel gives to outgoing connections.
    buses = [free_port() for _ in ports]
    bounds = [_SLOTS * n // _PRIMARIES for n in range(_PRIMARIES + 1)]
    nodes = []
    for number, (port, bus) in enumerate(zip(ports, buses)):
        nodes.append(redis.start(parts, "redis-cluster", port, "--cluster-enabled", "yes", "--cluster-port", bus,
                                 "--cluster-config-file", f"nodes-{port}.conf"))
        _succeed(port, "CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        _succeed(port, "CLUSTER", "ADDSLOTSRANGE", bounds[number], bounds[number + 1] - 1)
        if number:
            _succeed(port, "CLUSTER", "MEET", "127.0.0.1", ports[0], buses[0])
    for port, node in zip(ports, nodes):
        wait_until(lambda port=port: _knows_all(command(port, "CLUSTER", "INFO")), node, _LONGEST)
    return ports


def _succeed(port, *words):
    if command(port, *words) != b"+OK\r\n":
        raise NotMeasured(f"redis: no cluster was made: {' '.join(map(str, words))}: {command(port, *words)!r}")


def _knows_all(info):
    lines = info.split(b"\r\n")
    return b"cluster_state:ok" in lines and b"cluster_known_nodes:%d" % _PRIMARIES in lines

"""How many requests a worker hears of while browsers send preflights to the nginx before it, with the files of nginx/."""

import http.client
import pathlib
import re
import shutil
import subprocess

import stack
from processes import NotMeasured, wait_until

_ROOT = pathlib.Path(__file__).parents[2]
_PAGE = "https://app.example"
# A page that is listed, and one that is not.
_ORIGINS = [_PAGE, "https://other.example"]
_ROUTES = [("POST", "/api/v1/auth/sts-token"), ("GET", "/v2/attachments/presigned?contentType=image/jpeg"),
           ("POST", "/v2/assets/renew-batch"), ("DELETE", "/v2/uploads/an-id")]
_COUNT = 10_000


def worker_requests(parts, upstream):
    """(requests that the worker counted meanwhile, preflights that were sent)"""
    if not parts.worker:
        raise NotMeasured("preflights: there is no worker")
    name = "preflights"
    parts.start_worker(name, upstream, origins=[_PAGE])
    port = stack.free_port()
    front = parts.start(f"front-{name}", ["nginx", "-e", "stderr", "-p", parts.run, "-c", _configuration(parts, name, port)])
    wait_until(lambda: stack.listens(port), front)
    before = _counted(port)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    for number in range(_COUNT):
        _send(connection, _ORIGINS[number % 2], *_ROUTES[number // 2 % len(_ROUTES)])
    return _counted(port) - before, _COUNT


def _configuration(parts, name, port):
    """As deploy/run has it, with the origins of the worker's settings."""
    folder = parts.run / name
    command = 'root=$1 state=$2; . "$root/deploy/lib/nginx.sh"; write_nginx_config "$2" "$3" "$4"'
    subprocess.run(["bash", "-euc", command, "bash", _ROOT, folder, str(port), parts.run / f"{name}.sock"], check=True)
    (folder / "cloakroom").unlink()
    shutil.copytree(_ROOT / "nginx", folder / "cloakroom")
    subprocess.run([parts.worker, "nginx-cors", "--output", folder / "cloakroom" / "cors.conf", parts.run / f"{name}.json5"],
                   check=True, env=stack.environment())
    return folder / "nginx.conf"


def _send(connection, origin, method, target):
    connection.request("OPTIONS", target, headers={"Origin": origin, "Access-Control-Request-Method": method})
    with connection.getresponse() as response:
        response.read()
        permitted = response.headers["Access-Control-Allow-Origin"]
        if response.status != 204 or permitted != (_PAGE if origin == _PAGE else None):
            raise NotMeasured(f"preflights: {origin} got {response.status} and {permitted}")


def _counted(port):
    """All that the worker has responded to, but for this."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    counts = re.findall(r'^cloakroom_requests_total\{route="([^"]*)",[^}]*\} (\d+)$', text, re.MULTILINE)
    if not counts:
        raise NotMeasured("preflights: the worker tells of no requests")
    return sum(int(count) for route, count in counts if route != "/metrics")

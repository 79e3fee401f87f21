"""What is measured: for each scenario its requests, and how one answer is checked beforehand."""

import base64
import dataclasses
import hashlib
import hmac
import json
import pathlib
import time
import typing
import urllib.error
import urllib.request

import stack
from processes import NotMeasured


@dataclasses.dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict
    body: bytes = b""

    def raw(self):
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: 127.0.0.1",
                 *(f"{name}: {value}" for name, value in self.headers.items())]
        if self.method != "GET":
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, "", ""]).encode() + self.body


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    requests: list
    right: typing.Callable          # is this parsed answer the right one?
    floor: str | None = None        # the floor's program; None: the worker
    keeps_connections: bool = True
    credential_cache: bool = True
    keys: int = 0                   # per request, of a renewal
    connections: int = 64
    slow: bool = False              # against the upstream that waits

    def write(self, folder):
        """The requests in a file for wrk; gives its path."""
        path = pathlib.Path(folder) / f"{self.name}.requests"
        path.write_bytes(b"".join(b"%d\n%s\n" % (len(raw), raw) for raw in (each.raw() for each in self.requests)))
        return path

    def check(self, port):
        """Sends the first request and judges the answer, so that no error is measured by mistake."""
        first = self.requests[0]
        request = urllib.request.Request(f"http://127.0.0.1:{port}{first.path}", method=first.method,
                                         headers=first.headers, data=first.body if first.method != "GET" else None)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                body = answer.read()
        except urllib.error.HTTPError as error:
            raise NotMeasured(f"{self.name}: status {error.code}: {error.read(200)!r}") from None
        except OSError as error:
            raise NotMeasured(f"{self.name}: {error}") from None
        try:
            right = self.right(body)
        except (ValueError, KeyError, TypeError):
            right = False
        if not right:
            raise NotMeasured(f"{self.name}: not the expected answer: {body[:200]!r}")


def all_scenarios():
    vend_few = [vend(f"u_warm_{n % 8}", f"device_{n}") for n in range(64)]
    vend_many = [vend(f"u_{n}", f"device_{n}") for n in range(1000)]
    healthz = [Request("GET", "/healthz", {})]
    return [
        Scenario("floor_f1", "F1: libfcgi, 4 threads, no kept connections", healthz, _has_200_bytes,
                 floor="floor_threads", keeps_connections=False),
        Scenario("floor_f2", "F2: libfcgi, epoll, kept connections", healthz, _has_200_bytes, floor="floor_epoll"),
        Scenario("healthz", "`/healthz`", healthz, lambda body: True),
        Scenario("vend_cached", "vend, cached credentials", vend_few, has_credentials),
        Scenario("vend_sts", "vend, an STS call each", vend_many, has_credentials, credential_cache=False),
        Scenario("renew_20", "renew a batch of 20", _renewals(20), _renewed(20), keys=20),
        Scenario("renew_100", "renew a batch of 100", _renewals(100), _renewed(100), keys=100),
        Scenario("clients_1000", "1,000 clients, STS takes 50 ms", vend_many, has_credentials,
                 credential_cache=False, connections=1000, slow=True),
    ]


def vend(user, device):
    return Request("POST", "/api/v1/auth/sts-token", {"Authorization": f"Bearer {_token(user, device)}"})


def _renewals(keys):
    """Sixty-four clients, each with a batch of its own."""
    return [Request("POST", "/v2/assets/renew-batch",
                    {"X-Convos-AuthToken": _token(f"u_{n}", f"device_{n}"), "Content-Type": "application/json"},
                    json.dumps({"assetKeys": [f"asset{n:04}{k:04}.bin" for k in range(keys)]}).encode())
            for n in range(64)]


def _token(user, device):
    """An HS256 token as `cloakroom token mint` makes it, good for an hour."""
    now = int(time.time())
    parts = [{"alg": "HS256", "typ": "JWT"},
             {"iss": stack.ISSUER, "aud": stack.AUDIENCE, "sub": user, "deviceId": device, "tier": "free",
              "iat": now, "nbf": now, "exp": now + 3600}]
    signed = ".".join(_base64url(json.dumps(part, separators=(",", ":")).encode()) for part in parts)
    return f"{signed}.{_base64url(hmac.digest(stack.TOKEN_SECRET.encode(), signed.encode(), hashlib.sha256))}"


def _base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _has_200_bytes(body):
    return len(body) == 200


def has_credentials(body):
    return json.loads(body)["credentials"]["accessKeyId"] == "ASIAIOSFODNN7EXAMPLE"


def _renewed(keys):
    return lambda body: (json.loads(body)["renewed"], json.loads(body)["failed"]) == (keys, 0)

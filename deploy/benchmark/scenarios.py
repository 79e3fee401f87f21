"""What is measured: for each scenario its requests, and how one answer is checked beforehand."""

import base64
import dataclasses
import hashlib
import hmac
import json
import pathlib
import subprocess
import time
import typing
import urllib.error
import urllib.request

import load
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
    records: bool = True            # are users' records read?
    public_key: pathlib.Path | None = None      # of RS256 tokens; None: HS256
    part_of: str | None = None      # the scenario of `--only` that brings it along
    only_counted: bool = False      # for its system calls beside another's, without rounds
    keys: int = 0                   # per request, of a renewal or a release
    connections: int = 64

    def write(self, folder):
        """The requests in a file for wrk: `load.Requests`."""
        path = pathlib.Path(folder) / f"{self.name}.requests"
        path.write_bytes(b"".join(b"%d\n%s\n" % (len(raw), raw) for raw in (each.raw() for each in self.requests)))
        return load.Requests(path)

    def check(self, port):
        """Sends the first request and checks the response, so that no error is measured by mistake."""
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
        Scenario("vend_cached_without_records", "vend, cached credentials, no records", vend_few, has_credentials,
                 records=False, part_of="vend_cached", only_counted=True),
        Scenario("vend_sts", "vend, an STS call each", vend_many, has_credentials, credential_cache=False),
        Scenario("upload", "presign an upload", [upload(f"u_{n}", f"device_{n}") for n in range(1000)], _is_upload),
        Scenario("renew_20", "renew a batch of 20", renewals(20), renewed(20), keys=20),
        Scenario("renew_100", "renew a batch of 100", renewals(100), renewed(100), keys=100),
        Scenario("release_100", "release 100 images", releases(100), released(100), keys=100),
    ]


def rs256_scenarios(parts):
    """Cached credentials for RS256 tokens: for ones that the worker knows, and for ones that it has to verify."""
    public_key = parts.run / "rs256.pem"
    print(f"signing {_FRESH_TOKENS + _KNOWN_TOKENS:,} tokens", flush=True)
    unsigned = [_unsigned("RS256", f"u_warm_{n % 8}", f"device_{n % 64}", jti=f"{n:08}")
                for n in range(_FRESH_TOKENS + _KNOWN_TOKENS)]
    tokens = _signed_rs256(parts.binaries / "sign_tokens", public_key, unsigned)
    known, fresh = tokens[:_KNOWN_TOKENS], tokens[_KNOWN_TOKENS:]
    return [
        Scenario("vend_rs256_cached", "vend, RS256 token known", [_vend(each) for each in known], has_credentials,
                 public_key=public_key, part_of="vend_rs256"),
        Scenario("vend_rs256_fresh", "vend, RS256 token never seen", [_vend(each) for each in fresh], has_credentials,
                 public_key=public_key, part_of="vend_rs256"),
    ]


_KNOWN_TOKENS = 64
_FRESH_TOKENS = 20_000      # A worker remembers 10,000: when a token's turn comes again, it is long forgotten.


def vend(user, device):
    return _vend(_token(user, device))


def _vend(token):
    return Request("POST", "/api/v1/auth/sts-token", {"Authorization": f"Bearer {token}"})


def upload(user, device):
    return Request("GET", "/v2/attachments/presigned?contentType=image/jpeg&contentLength=40000",
                   {"X-Convos-AuthToken": _token(user, device)})


def renewals(keys):
    """Sixty-four clients, each with a batch of its own."""
    return [renewal(n, *(f"asset{n:04}{k:04}.bin" for k in range(keys))) for n in range(64)]


def renewal(client, *keys):
    """One batch of a client with this number."""
    return Request("POST", "/v2/assets/renew-batch",
                   {"X-Convos-AuthToken": _token(f"u_{client}", f"device_{client}"),
                    "Content-Type": "application/json"},
                   json.dumps({"assetKeys": keys}).encode())


def releases(images):
    """Sixty-four clients, each with images of chats of its own."""
    return [release(n, *(f"{stack.CHATS}{n:016x}{each:016x}.bin" for each in range(images))) for n in range(64)]


def release(client, *keys):
    """One batch of a client with this number, who uploaded them all."""
    user = f"u_{client}"
    return release_of(user, [(key, _release_token(key, user)) for key in keys])


def release_of(user, images):
    """One batch of a user: images are (key, release token)."""
    batch = [{"key": key, "releaseToken": token} for key, token in images]
    return Request("POST", "/v2/assets/release-batch", {**bearer(user), "Content-Type": "application/json"},
                   json.dumps({"images": batch}).encode())


def bearer(user):
    """What a user's request is signed in by."""
    return {"X-Convos-AuthToken": _token(user, user.replace("u_", "device_", 1))}


def _release_token(key, user):
    """As the worker makes it: HMAC-SHA256 over version, bucket, key and user, each behind its length."""
    made_of = hmac.digest(stack.SEALING_SECRET.encode(), b"cloakroom release tokens", "sha256")
    message = b"".join(len(text).to_bytes(4, "big") + text
                       for text in (each.encode() for each in ("v1", stack.BUCKET, key, user)))
    return "v1." + base64.urlsafe_b64encode(hmac.digest(made_of, message, "sha256")).rstrip(b"=").decode()


def _token(user, device):
    """An HS256 token as `cloakroom token mint` makes it, good for an hour."""
    unsigned = _unsigned("HS256", user, device)
    return f"{unsigned}.{_base64url(hmac.digest(stack.TOKEN_SECRET.encode(), unsigned.encode(), hashlib.sha256))}"


def _unsigned(algorithm, user, device, **more):
    now = int(time.time())
    parts = [{"alg": algorithm, "typ": "JWT"},
             {"iss": stack.ISSUER, "aud": stack.AUDIENCE, "sub": user, "deviceId": device, "tier": "free",
              "iat": now, "nbf": now, "exp": now + 3600, **more}]
    return ".".join(_base64url(json.dumps(part, separators=(",", ":")).encode()) for part in parts)


def _signed_rs256(program, public_key, unsigned):
    """The tokens, in order; the public key is written. Python's own library has no RSA."""
    try:
        finished = subprocess.run([program, public_key], input="\n".join(unsigned) + "\n", stdout=subprocess.PIPE,
                                  text=True, timeout=60)
    except subprocess.TimeoutExpired:
        raise NotMeasured("vend_rs256: the tokens were not signed within a minute") from None
    tokens = finished.stdout.split()
    if finished.returncode != 0 or len(tokens) != len(unsigned):
        raise NotMeasured(f"vend_rs256: {len(tokens)} of {len(unsigned)} tokens were signed")
    return tokens


def _base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _has_200_bytes(body):
    return len(body) == 200


def has_credentials(body):
    return json.loads(body)["credentials"]["accessKeyId"] == "ASIAIOSFODNN7EXAMPLE"


def _is_upload(body):
    return "X-Amz-Signature=" in json.loads(body)["uploadUrl"]


def renewed(keys):
    return lambda body: (json.loads(body)["renewed"], json.loads(body)["failed"]) == (keys, 0)


def released(images):
    return lambda body: (json.loads(body)["released"], json.loads(body)["failed"]) == (images, 0)

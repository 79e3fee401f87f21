"""The parts around the measured programs: Redis, nginx, canned STS and S3, settings."""

import getpass
import json
import os
import pathlib
import shutil
import socket
import tempfile

import canned
import fastcgi
from processes import NotMeasured, Process, only_child, wait_until

_here = pathlib.Path(__file__).parent
BUCKET = "photos"
S3_REGION = "eu-west-1"     # of the scripted S3, which minds
AUDIENCE = "cloakroom"
ISSUER = "https://auth.example"
TOKEN_SECRET = "a secret of the benchmark alone, 48 bytes long.."
SEALING_SECRET = "x0Jr7vKq1PzM4tYb9LcW6hNd3GfSa8Ue"
CHATS = "chats/"        # where images of chats are
_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "CLOAKROOM_TOKEN_SECRET": TOKEN_SECRET,
    "CLOAKROOM_SEALING_SECRET": SEALING_SECRET,
    # As the supervisor starts its workers.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}


def environment():
    """What a command needs that reads a worker's settings."""
    return dict(_ENVIRONMENT)


class Stack:
    """Starts parts on 127.0.0.1 and on unix sockets, and stops all of them at the end of a `with`."""

    def __init__(self, state, worker, scripted_s3=None, log_level="info", kit_bench=None, sample=None, tier_bench=None,
                 message_bench=None, message_model=None):
        self.state = pathlib.Path(state)
        self.binaries = self.state / "bin"
        self.logs = self.state / "logs"
        self.worker = worker
        self.scripted_s3 = scripted_s3
        self.kit_bench = kit_bench
        self.sample = sample
        self.tier_bench = tier_bench
        self.message_bench = message_bench
        self.message_model = message_model
        self._log_level = log_level
        self._started = []

    def __enter__(self):
        self.logs.mkdir(parents=True, exist_ok=True)
        self.run = self.state / "run"
        # A unix socket's path has at most 107 bytes; a checkout may lie deeper.
        if len(str(self.run)) > 70:
            self.run = pathlib.Path(tempfile.mkdtemp(prefix="cloakroom-bench-"))
        shutil.rmtree(self.run, ignore_errors=True)
        self.run.mkdir(mode=0o700)
        return self

    def __exit__(self, *_):
        for process in reversed(self._started):
            process.ask_to_stop()
        for process in reversed(self._started):
            process.stop()
            _shorten(process.log)
        shutil.rmtree(self.run, ignore_errors=True)

    def start(self, name, arguments, environment=None):
        process = Process(name, arguments, self.logs / f"{name}.log", environment)
        self._started.append(process)
        return process

    def start_redis(self):
        """Redis on a unix socket, with nothing on disk. Gives its process id."""
        path = self.run / "redis.sock"
        redis = self.start("redis", ["redis-server", "--port", "0", "--unixsocket", path, "--save", "",
                                     "--appendonly", "no", "--dir", self.run])
        wait_until(lambda: _connects(socket.AF_UNIX, str(path)), redis)
        return redis.pid

    def start_canned(self):
        """nginx with fixed STS and S3 answers. Gives (port, process id of its worker)."""
        port = free_port()
        master = self._nginx("canned", {"PORT": port, "STS": canned.sts_answer(), "S3": canned.s3_answer()})
        wait_until(lambda: _connects(socket.AF_INET, ("127.0.0.1", port)), master)
        return port, self._worker_of(master)

    def start_slow(self, milliseconds):
        """The canned server that waits before it answers. Gives its port."""
        port = free_port()
        files = {"sts.xml": canned.sts_answer(), "s3.xml": canned.s3_answer()}
        for name, text in files.items():
            (self.run / name).write_text(text)
        slow = self.start("slow", [self.binaries / "slow_upstream", port, milliseconds,
                                   *(self.run / name for name in files)])
        wait_until(lambda: _connects(socket.AF_INET, ("127.0.0.1", port)), slow)
        return port

    def start_scripted_s3(self, name):
        """The S3 that answers as AWS does, and badly when told to. Gives its port."""
        port = free_port()
        environment = {"SCRIPTED_ACCESS_KEY_ID": _ENVIRONMENT["AWS_ACCESS_KEY_ID"],
                       "SCRIPTED_SECRET_ACCESS_KEY": _ENVIRONMENT["AWS_SECRET_ACCESS_KEY"]}
        server = self.start(name, [self.scripted_s3, "--listen", f"127.0.0.1:{port}", "--bucket", BUCKET, "--region",
                                   S3_REGION, "--no-log"], environment)
        wait_until(lambda: _connects(socket.AF_INET, ("127.0.0.1", port)), server)
        return port

    def start_floor(self, name, program):
        path = self.run / f"{name}.sock"
        floor = self.start(name, [self.binaries / program, path])
        wait_until(lambda: fastcgi.answers(path), floor)
        return floor

    def worker_command(self, name, upstream_port, **how):
        """(arguments, environment, socket) of a worker, its settings written; `how` as in `start_worker`."""
        settings = self.run / f"{name}.json5"
        settings.write_text(json.dumps(self._settings(upstream_port, **how), indent=2))
        path = self.run / f"{name}.sock"
        return [self.worker, "serve", "--listen", f"unix:{path}", settings], _ENVIRONMENT, path

    def start_worker(self, name, upstream_port, **how):
        """`how`: what differs from the settings of most.

        credential_cache; shares: the workers share the credentials they vended; records: users' records are read;
        public_key: the file with the key of RS256 tokens, which else are HS256; region: of S3; timeout: of one try,
        in milliseconds; partial_failure: how keys are told of that still fail after retries; minimum_age: of an
        object that is renewed, in seconds; slowed: by an instrument, so that time limits are long;
        chats: images of chats have a place of their own, and can be released; ceph: the store and how images are
        released there, in place of the upstream; redis: where it is, if not at the socket of all; origins: of web pages.
        """
        arguments, environment, _ = self.worker_command(name, upstream_port, **how)
        return self.start_command(name, arguments, environment)

    def start_command(self, name, arguments, environment):
        """A worker, by what `worker_command` gives."""
        worker = self.start(name, arguments, environment)
        wait_until(lambda: fastcgi.answers(self.run / f"{name}.sock"), worker)
        return worker

    def start_front(self, backends, name="front"):
        """nginx before the sockets. `backends`: {name: keeps connections}. Gives ({name: port}, process id)."""
        ports = {each: free_port() for each in backends}
        servers = "\n".join(_server(each, ports[each], self.run, keeps) for each, keeps in backends.items())
        master = self._nginx(name, {"SERVERS": servers}, "front")
        for port in ports.values():
            wait_until(lambda port=port: _connects(socket.AF_INET, ("127.0.0.1", port)), master)
        return ports, self._worker_of(master)

    def start_front_of_crowd(self, name):
        """An nginx of two processes before one socket, for more connections than one process may have, which keeps all of
        them. Gives (port, log)."""
        port = free_port()
        server = _server(name, port, self.run, True, keeps_most=10_000).replace("backlog=4096", "backlog=4096 reuseport")
        master = self._nginx(f"front-{name}", {"SERVERS": server, "WORKERS": 2}, "front")
        wait_until(lambda: _connects(socket.AF_INET, ("127.0.0.1", port)), master)
        return port, master.log

    def start_front_of_several(self, name, backends):
        """Another nginx, one port before several sockets. Gives the port."""
        port = free_port()
        servers = _server(name, port, self.run, True, backends)
        master = self._nginx(f"front-{name}", {"SERVERS": servers}, "front")
        wait_until(lambda: _connects(socket.AF_INET, ("127.0.0.1", port)), master)
        return port

    def _nginx(self, name, values, template=None):
        text = (_here / f"{template or name}.conf").read_text()
        # Started by root, nginx would drop to a user who may not open the sockets.
        user = f"user {getpass.getuser()};" if os.geteuid() == 0 else ""
        for key, value in {"NAME": name, "RUN": self.run, "USER": user, "WORKERS": 1, **values}.items():
            text = text.replace(f"@{key}@", str(value))
        configuration = self.run / f"{name}.conf"
        configuration.write_text(text)
        return self.start(name, ["nginx", "-e", "stderr", "-p", self.run, "-c", configuration])

    def _worker_of(self, master):
        wait_until(lambda: only_child(master.pid), master)
        return only_child(master.pid)

    def _settings(self, upstream_port, credential_cache=True, shares=False, records=True, public_key=None,
                  region="us-east-1", timeout=5000, partial_failure="retry", minimum_age=86_400, slowed=False,
                  chats=False, ceph=None, redis=None, origins=()):
        """The defaults, but for endpoints, places, and rate limits that no client reaches."""
        upstream = f"http://127.0.0.1:{upstream_port}"
        limit = {"requests": 1_000_000, "windowSeconds": 3600}
        signed = {"algorithms": ["RS256"], "keyFile": str(public_key)} if public_key else \
            {"algorithms": ["HS256"], "secret": {"env": "CLOAKROOM_TOKEN_SECRET"}}
        of_chats = {
            "uploads": {"keyPrefix": "assets/", "chatKeyPrefix": CHATS}, "lifecycle": {"prefixes": ["assets/"]},
            "release": {"keys": [{"env": "CLOAKROOM_SEALING_SECRET"}]},
        } if chats else {}
        settings = {
            **of_chats,
            **({"web": {"origins": list(origins)}} if origins else {}),
            "region": region,
            "bucket": BUCKET,
            "aws": {
                "accessKeyID": {"env": "AWS_ACCESS_KEY_ID"},
                "secretAccessKey": {"env": "AWS_SECRET_ACCESS_KEY"},
                "stsEndpoint": upstream,
                "s3Endpoint": upstream,
                "timeoutMilliseconds": 60_000 if slowed else timeout,
            },
            "tokens": {"issuers": [{
                "issuer": ISSUER, "audiences": [AUDIENCE], **signed,
                "claims": {"subject": "sub", "device": "deviceId", "tier": "tier"},
            }]},
            "vending": {
                "roleARN": "arn:aws:iam::000000000000:role/cloakroom-bench",
                "credentialCache": {"enabled": credential_cache, "shared": {
                    "enabled": shares, "keys": [{"env": "CLOAKROOM_SEALING_SECRET"}]}},
            },
            "entitlements": {"enabled": records},
            "renewal": {"partialFailure": partial_failure, "minimumAgeSeconds": minimum_age},
            "limits": {"renew": limit, "vend": limit, "upload": limit, "release": limit,
                       "renewKeys": {"keys": 100_000_000, "windowSeconds": 3600},
                       "releaseKeys": {"keys": 100_000_000, "windowSeconds": 3600}},
            "redis": {**(redis or {"address": f"unix:{self.run / 'redis.sock'}"}),
                      "timeoutMilliseconds": 5000 if slowed else 40},
            "server": {"requestDeadlineMilliseconds": 60_000, "drainSeconds": 60} if slowed else {},
            "log": {"level": self._log_level},
        }
        return _on_ceph(settings, *ceph) if ceph else settings


def _on_ceph(settings, place, mode):
    """The same for the store that deploy/ceph has started; in its short days only what is released is to go."""
    return settings | {
        "region": place["region"], "bucket": place["bucket"],
        "aws": settings["aws"] | {"accessKeyID": place["id"], "stsEndpoint": place["endpoint"],
                                  "s3Endpoint": place["endpoint"], "timeoutMilliseconds": 10_000},
        "vending": settings["vending"] | {"roleARN": place["roleARN"], "store": "ceph"},
        "uploads": settings["uploads"] | {"chatRetentionDays": 3000},
        "release": settings["release"] | {"mode": mode},
        "server": {"drainSeconds": 20, "requestDeadlineMilliseconds": 15_000},
    }


def listens(port):
    return _connects(socket.AF_INET, ("127.0.0.1", port))


def free_port():
    """A free port of 127.0.0.1 below those the kernel gives to outgoing connections."""
    for port in range(20000 + os.getpid() % 5000, 32000):
        if port in _given:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            _given.add(port)
            return port
    raise NotMeasured("no free port between 20000 and 32000")


_given = set()


def _connects(family, address):
    with socket.socket(family) as probe:
        probe.settimeout(1)
        return probe.connect_ex(address) == 0


def _shorten(log, most=1_000_000):
    """Keeps the end of a log only: a worker writes a line for each of its many requests."""
    if log.stat().st_size > most:
        with open(log, "rb") as file:
            file.seek(-most, os.SEEK_END)
            file.readline()
            end = file.read()
        log.write_bytes(end)


def _server(name, port, run, keeps, backends=None, keeps_most=128):
    keep_alive = f"        keepalive {keeps_most};\n        keepalive_requests 1000000000;\n" if keeps else ""
    several = "        least_conn;\n" if backends else ""
    sockets = "".join(f"        server unix:{run}/{each}.sock;\n" for each in backends or [name])
    return (f"    upstream {name} {{\n{several}{sockets}{keep_alive}    }}\n"
            f"    server {{\n        listen 127.0.0.1:{port} backlog=4096;\n"
            f"        location / {{\n            fastcgi_pass {name};\n"
            f"            fastcgi_keep_conn {'on' if keeps else 'off'};\n        }}\n"
            f"        location = /status {{\n            fastcgi_pass {name};\n            fastcgi_keep_conn on;\n"
            "            fastcgi_param REQUEST_METHOD $request_method;\n            fastcgi_param REQUEST_URI $request_uri;\n"
            "            fastcgi_param LOCAL_NETWORK 1;\n        }\n    }")

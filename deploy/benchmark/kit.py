"""What the client kit asks a worker for, and what that costs its own process. The worker here only counts."""

import contextlib
import datetime
import http.server
import json
import os
import pathlib
import threading
import time

import listing
from processes import NotMeasured

_ASSETS = 10_000
_SECONDS = 60       # for one run of the kit
_FIRST_LIFETIME = 2
_FIRST_SESSION = 10


def refreshes_of_callers(parts):
    """A thousand callers at once of credentials that have ended: requests."""
    with _worker() as worker:
        _run(parts, "kit-callers", "callers", worker.url)
        # The first one was for the credentials that ended.
        return worker.requests["/api/v1/auth/sts-token"] - 1


def session_requests_of_callers(parts):
    """A thousand callers at once of a session that is about to end: requests."""
    with _worker() as worker:
        _run(parts, "kit-sessions", "sessions", worker.url)
        # The first one was to sign in.
        return worker.requests["/api/v1/auth/session"] - 1


def renewal(parts):
    """Ten thousand assets, none renewed before, and a new database: requests, and seconds of the kit's CPU."""
    with _worker() as worker:
        seconds = _run(parts, "kit-renewals", "renewals", worker.url, parts.run / "renewals.sqlite")
        if worker.renewed != _ASSETS:
            raise NotMeasured(f"kit-renewals: {worker.renewed:,} keys were renewed, not {_ASSETS:,}")
        return worker.requests["/v2/assets/renew-batch"], seconds


def listing_for_new_photos(parts):
    """Five new photos beside 50,000 stored ones: bytes of listings."""
    return listing.bytes_for_new_photos(lambda *arguments: _run(parts, "kit-listing", "backup", *arguments),
                                        parts.run / "listing")


def lines_to_first_upload():
    """Of the example in README.md, which deploy/checks/examples compiles and runs; empty lines and comments are none."""
    text = pathlib.Path("README.md").read_text()
    section = text[text.index("## Ten lines of an app"):]
    code = section.split("```swift\n", 1)[1].split("```", 1)[0]
    return sum(1 for line in code.splitlines() if line.strip() and not line.strip().startswith("//"))


def _run(parts, name, *arguments):
    """CPU-seconds of the whole process, its start included."""
    if not parts.kit_bench:
        raise NotMeasured(f"{name}: there is no kit-bench")
    process = parts.start(name, [parts.kit_bench, *arguments])
    deadline = time.monotonic() + _SECONDS
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > deadline:
            raise NotMeasured(f"{name}: not done after {_SECONDS} s")
        time.sleep(0.01)
    if status != 0:
        raise NotMeasured(f"{name} failed: {process.last_words()}")
    return usage.ru_utime + usage.ru_stime


@contextlib.contextmanager
def _worker():
    worker = _Worker(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=worker.serve_forever)
    thread.start()
    try:
        yield worker
    finally:
        worker.shutdown()
        thread.join()
        worker.server_close()


class _Worker(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.requests = {"/api/v1/auth/sts-token": 0, "/v2/assets/renew-batch": 0, "/api/v1/auth/session": 0}
        self.renewed = 0
        self.lock = threading.Lock()


class _Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.lock:
            if self.path not in self.server.requests:
                return self.send_error(404)
            self.server.requests[self.path] += 1
            match self.path:
                case "/api/v1/auth/session": answer = self._session()
                case "/v2/assets/renew-batch": answer = self._renewal(json.loads(body))
                case _: answer = self._credentials()
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _credentials(self):
        number = self.server.requests[self.path]
        lifetime = _FIRST_LIFETIME if number == 1 else 3600
        return {"credentials": {"accessKeyId": f"ASIAIOSFODNN7EXAMPL{number}", "secretAccessKey": "k" * 40,
                                "sessionToken": "t" * 400, "expiration": _in(lifetime)},
                "region": "eu-west-1", "bucket": "assets"}

    def _session(self):
        number = self.server.requests[self.path]
        return {"token": f"session{number}", "expiresAt": _in(_FIRST_SESSION if number == 1 else 3600), "userId": "u_1"}

    def _renewal(self, batch):
        keys = batch["assetKeys"]
        self.server.renewed += len(keys)
        expiry = _in(30 * 86_400)
        return {"renewed": len(keys), "failed": 0,
                "results": [{"key": key, "success": True, "expiresAt": expiry} for key in keys]}

    def log_message(self, *_):
        pass


def _in(seconds):
    time_then = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return time_then.strftime("%Y-%m-%dT%H:%M:%SZ")

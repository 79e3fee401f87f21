"""A worker that knows one token and vends always the same: `worker.py FILE` writes its port there, and serves."""

import http.server
import json
import pathlib
import sys

_VENDED = {"credentials": {"accessKeyId": "ASIAIOSFODNN7EXAMPLE", "secretAccessKey": "x" * 40, "sessionToken": "y" * 100,
                           "expiration": "2999-01-01T00:00:00Z"},
           "region": "us-east-1", "bucket": "photos"}
_REFUSED = {"error": "Invalid auth token", "code": "unauthorized"}


class Worker(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        known = self.path == "/api/v1/auth/sts-token" and self.headers["Authorization"] == "Bearer consumer-token"
        body = json.dumps(_VENDED if known else _REFUSED).encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Worker)
pathlib.Path(sys.argv[1]).write_text(f"{server.server_port}\n")
server.serve_forever()

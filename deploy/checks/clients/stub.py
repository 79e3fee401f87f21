"""An endpoint on 127.0.0.1 that fails: every other request for a renewal, with 503 or, below /cut, by a response that breaks off.

What is uploaded there is read only after a second.
"""

import http.server
import json
import sys
import time

RESULT = b'{"renewed":1,"failed":0,"results":[{"key":"a","success":true}]}'


class Handler(http.server.BaseHTTPRequestHandler):
    count = 0

    def do_GET(self):
        address = f"http://{self.headers['Host']}/upload"
        self.reply(200, json.dumps({"objectKey": "a", "uploadUrl": address, "assetUrl": address, "headers": {}}).encode())

    def do_PUT(self):
        time.sleep(1)
        left = int(self.headers["Content-Length"])
        while left:
            left -= len(self.rfile.read(min(left, 1 << 20)))
        self.reply(200, b"")

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        Handler.count += 1
        if Handler.count % 2 == 0:
            self.reply(200, RESULT)
        elif self.path.startswith("/cut/"):
            self.reply(200, RESULT, said=10)
        else:
            self.reply(503, b'{"error":"Temporarily unavailable","code":"unavailable"}', {"Retry-After": "1"})

    def reply(self, status, body, fields={}, said=None):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:said])

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

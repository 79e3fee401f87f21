"""An endpoint on 127.0.0.1 that returns 503 to every other request, and a renewal's result to the rest."""

import http.server
import sys

RESULT = b'{"renewed":1,"failed":0,"results":[{"key":"a","success":true}]}'


class Handler(http.server.BaseHTTPRequestHandler):
    count = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        Handler.count += 1
        fails = Handler.count % 2 == 1
        body = b'{"error":"Temporarily unavailable","code":"unavailable"}' if fails else RESULT
        self.send_response(503 if fails else 200)
        if fails:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

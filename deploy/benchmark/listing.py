"""What a backup of a few new photos beside many stored ones lists. S3 here keeps nothing but keys, and counts."""

import base64
import contextlib
import hashlib
import http.server
import os
import sqlite3
import threading
import urllib.parse

from processes import NotMeasured

_STORED = 50_000
_NEW = 5
_PAGE = 1_000


def bytes_for_new_photos(run, folder):
    """Of the responses to listings, while five new photos are backed up beside 50,000 that the index knows.

    run: runs kit-bench with these arguments. folder: is made, for files."""
    folder.mkdir()
    index, photos = folder / "photos.sqlite", folder / "photos"
    photos.mkdir()
    (photos / "first").write_bytes(os.urandom(1_000))
    with _s3() as s3:
        # Makes the index.
        run(s3.url, index, photos)
        _fill(index, s3)
        s3.listed = 0
        (photos / "first").unlink()
        for number in range(_NEW):
            (photos / f"new{number}").write_bytes(os.urandom(1_000))
        stored = len(s3.keys)
        run(s3.url, index, photos)
        if len(s3.keys) != stored + _NEW:
            raise NotMeasured(f"listing: {len(s3.keys) - stored} photos were stored, not {_NEW}")
        return s3.listed


def _fill(index, s3):
    with contextlib.closing(sqlite3.connect(index)) as database, database:
        seen, = database.execute("SELECT max(seen) FROM photo").fetchone() or (None,)
        if seen is None:
            raise NotMeasured("listing: the index has nothing of the first photo")
        for number in range(_STORED):
            md5 = hashlib.md5(str(number).encode()).digest()
            s3.keys.add(f"photos/u_1/{md5.hex()}.dat")
            database.execute("INSERT INTO photo (device, inode, byteCount, modified, changed, md5, isStored, seen) "
                             "VALUES (0, ?, 1000, 1, 1, ?, 1, ?)", (number, md5, seen))


@contextlib.contextmanager
def _s3():
    server = _Server(("127.0.0.1", 0), _Responses)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.keys = set()
        self.listed = 0
        self.lock = threading.Lock()


class _Responses(http.server.BaseHTTPRequestHandler):
    """Path-style requests to one bucket."""
    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.keys.add(self._key())
        md5 = hashlib.md5(body)
        if self.headers["Content-MD5"] not in (None, base64.b64encode(md5.digest()).decode()):
            return self._respond(400, b"<Error><Code>BadDigest</Code></Error>")
        self._respond(200, b"", ETag=f'"{md5.hexdigest()}"')

    def do_HEAD(self):
        self._respond(200 if self._key() in self.server.keys else 404, b"")

    def do_GET(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        if "list-type" in query:
            return self._list(query)
        self._respond(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def _list(self, query):
        with self.server.lock:
            after = query.get("continuation-token", "")
            keys = sorted(key for key in self.server.keys if key.startswith(query.get("prefix", "")) and key > after)
            page = keys[:_PAGE]
            contents = "".join(f"<Contents><Key>{key}</Key><LastModified>2026-11-20T14:00:00.000Z</LastModified><ETag>"
                               f"&quot;{key[-36:-4]}&quot;</ETag><Size>1000</Size></Contents>" for key in page)
            more = len(keys) > len(page)
            following = f"<NextContinuationToken>{page[-1]}</NextContinuationToken>" if more else ""
            body = (f"<ListBucketResult><IsTruncated>{'true' if more else 'false'}</IsTruncated>{contents}{following}"
                    "</ListBucketResult>").encode()
            self.server.listed += len(body)
        self._respond(200, body)

    def _key(self):
        return urllib.parse.unquote(urllib.parse.urlsplit(self.path).path).split("/", 2)[2]

    def _respond(self, status, body, **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass

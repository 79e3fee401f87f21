"""Images of chats on Ceph, where days are seconds: released by the worker, and who can still read them."""

import json
import os
import subprocess
import time
import urllib.error
import urllib.request

from processes import NotMeasured, wait_until
from scenarios import Request, bearer, release_of

_IMAGES = 40
_DAY_SECONDS = 4
_LONGEST_RULE = 100         # seconds until a rule of one day has deleted what it is for, which Ceph does in its own time
_MODES = ("delete", "tag")


class Ceph:
    """deploy/ceph, with an empty bucket."""

    def __init__(self, parts):
        state = parts.run / "ceph"
        self._process = parts.start("ceph", ["deploy/ceph", _DAY_SECONDS], {"CLOAKROOM_STATE": str(state)})
        wait_until((state / "ceph.json").exists, self._process, 120)
        self.place = json.loads((state / "ceph.json").read_text())

    def stop(self):
        self._process.stop(20)

    def status(self, key):
        """Of a GET by the bucket's owner, whom no policy keeps from anything."""
        place = self.place
        asked = subprocess.run(
            ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "10", "--aws-sigv4",
             f"aws:amz:{place['region']}:s3", "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", "-K", "-",
             f"{place['endpoint']}/{place['bucket']}/{key}"],
            input=f'user = "{place["id"]}:{place["secret"]}"', capture_output=True, text=True, timeout=20)
        if asked.returncode != 0:
            raise NotMeasured(f"retention: GET on Ceph: {asked.stderr.strip()}")
        return int(asked.stdout)


def readable_after_release(parts):
    """{mode: how many of the released images can be read}, after the response, or after the day of the rule."""
    if not parts.worker:
        raise NotMeasured("retention: there is no worker")
    ceph = Ceph(parts)
    try:
        return {mode: _released(parts, ceph, mode) for mode in _MODES}
    finally:
        ceph.stop()


def _released(parts, ceph, mode):
    name = f"chats_{mode}"
    arguments, environment, _ = parts.worker_command(name, None, chats=True, ceph=(ceph.place, mode))
    environment = {**environment, "AWS_SECRET_ACCESS_KEY": ceph.place["secret"]}
    if mode == "tag":
        applied = subprocess.run([parts.worker, "lifecycle", "apply", "--yes", arguments[-1]], capture_output=True,
                                 text=True, timeout=60, env={**os.environ, **environment})
        if applied.returncode != 0:
            raise NotMeasured(f"retention: the rule could not be set: {applied.stderr.strip()[-300:]}")
    worker = parts.start_command(name, arguments, environment)
    try:
        port = parts.start_front_of_several(name, [name])
        images = [_uploaded(port) for _ in range(_IMAGES + 1)]
        # One stays, to know that what is gone was there to be seen.
        kept, images = images[0], images[1:]
        if any(ceph.status(key) != 200 for key, _ in images):
            raise NotMeasured("retention: an image cannot be read before its release")
        answer = _ask(port, release_of("u_chats", images))
        if answer["released"] != len(images):
            raise NotMeasured(f"retention: {answer['released']} of {len(images)} images were released")
        deadline = time.monotonic() + (_LONGEST_RULE if mode == "tag" else 0)
        while True:
            left = [key for key, _ in images if ceph.status(key) == 200]
            if not left or time.monotonic() > deadline:
                break
            time.sleep(1)
        if ceph.status(kept[0]) != 200:
            raise NotMeasured("retention: an image that was not released cannot be read")
        return len(left)
    finally:
        worker.stop()


def _uploaded(port):
    """An image of a chat, as an app uploads it: (key, release token)."""
    signed = _ask(port, Request("GET", "/v2/attachments/presigned?contentType=image/png&purpose=chat", bearer("u_chats")))
    put = urllib.request.Request(signed["uploadUrl"], method="PUT", data=b"an image", headers=signed["headers"])
    with _opened(put):
        pass
    return signed["objectKey"], signed["releaseToken"]


def _ask(port, asked):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{asked.path}", method=asked.method, headers=asked.headers,
                                     data=asked.body if asked.method != "GET" else None)
    with _opened(request) as answer:
        return json.load(answer)


def _opened(request):
    try:
        return urllib.request.urlopen(request, timeout=20)
    except urllib.error.HTTPError as error:
        # Without the query: it is signed.
        raise NotMeasured(f"retention: {request.full_url.split('?')[0]}: status {error.code}: {error.read(200)!r}") from None



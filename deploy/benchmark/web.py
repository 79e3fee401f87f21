"""The page of deploy/web beside curl, on the stack of deploy/run: 100 photos, six at once."""

import json
import os
import pathlib
import statistics
import subprocess
import time
import urllib.parse
import urllib.request

from backups import Store
from processes import NotMeasured

_PHOTOS = 100
_PHOTO_BYTES = 1_000_000
_AT_ONCE = 6
_LONGEST = 60       # seconds, of one round
_FILES = ["", "style.css", "page.mjs", "cloakroom.mjs"]
_BROWSER = pathlib.Path(__file__).parent / "browser.py"


def measure(parts, rounds):
    """({limit: value}, notes)"""
    if not parts.worker:
        raise NotMeasured("clients: there is no worker for the page")
    folder = parts.run / "page"
    folder.mkdir()
    photos = [folder / f"{number}.jpg" for number in range(_PHOTOS)]
    for each in photos:
        each.write_bytes(os.urandom(_PHOTO_BYTES))
    store = Store(parts)
    try:
        size = sum(len(_read(f"{store.values['URL']}/demo/{each}")) for each in _FILES)
        pairs = []
        # The first is to warm up: caches, and the store's files.
        for number in range(rounds + 1):
            turns = [lambda: _page(store, folder, photos, number), lambda: _curl(store, folder, photos, number)]
            seconds = [turn() for turn in turns] if number % 2 else [turn() for turn in reversed(turns)][::-1]
            if number > 0:
                pairs.append(seconds)
    finally:
        store.stop()
    values = {"web_upload_100_time_over_curl": statistics.median(page / curl for (page, _), curl in pairs),
              "web_upload_100_time_over_bare_page": statistics.median(page / bare for (page, bare), _ in pairs),
              "page_kb": size / 1000}
    told = ", ".join(f"{page:.2f} s beside {curl:.2f} s" for (page, _), curl in pairs)
    bare = statistics.median(bare / curl for (_, bare), curl in pairs)
    return values, [f"clients: the page uploads {_PHOTOS} photos of {_PHOTO_BYTES // 1000:,} KB, {_AT_ONCE} at once, beside curl: {told}; "
                    f"the same browser by the fewest lines that do so, {bare:.2f} times as long as curl."]


def _token(store, folder, user):
    path = folder / f"{user}.token"
    store.make_token(user, path)
    return path


def _page(store, folder, photos, number):
    """Seconds from the choice of the files until the page says that all are uploaded, without previews, which it makes of
    pictures alone; and those of the browser without our page."""
    # A user of its own: a user may upload only so much at once.
    tokens = [_token(store, folder, f"u_{each}_{number}") for each in ("page", "bare")]
    arguments = ["/usr/bin/python3", "-B", _BROWSER, f"{store.values['URL']}/demo/", *tokens, *photos]
    try:
        finished = subprocess.run([str(each) for each in arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        raise NotMeasured(f"clients: the page did not upload within {_LONGEST} s") from None
    if finished.returncode != 0:
        raise NotMeasured(f"clients: the browser failed: {finished.stderr.strip()[-300:]}")
    page, bare = map(float, finished.stdout.split())
    return page, bare


def _curl(store, folder, photos, number):
    """Seconds of one curl that gets the URLs, and of one that uses them."""
    token = _token(store, folder, f"u_curl_{number}").read_text().strip()
    began = time.perf_counter()
    lines = []
    for each in photos:
        query = urllib.parse.urlencode({"contentType": "image/jpeg", "contentLength": _PHOTO_BYTES})
        lines.append({"url": f"{store.values['URL']}/v2/attachments/presigned?{query}", "header": [f"Authorization: Bearer {token}"],
                      "output": f"{each}.json"})
    _run(folder / "leave.curl", lines)
    lines = []
    for each in photos:
        upload = json.loads(pathlib.Path(f"{each}.json").read_text())
        fields = [f"{name}: {value}" for name, value in upload["headers"].items()]
        lines.append({"url": upload["uploadUrl"], "header": fields, "upload-file": each, "output": "/dev/null"})
    _run(folder / "put.curl", lines)
    return time.perf_counter() - began


def _run(file, transfers):
    """All transfers by one curl. Its options are in a file: a token has no place in a command line."""
    blocks = []
    for transfer in transfers:
        options = [(name, value) for name, values in transfer.items() for value in (values if isinstance(values, list) else [values])]
        blocks.append("fail\nsilent\nshow-error\n" + "".join(f"{name} = {json.dumps(str(value))}\n" for name, value in options))
    file.write_text("next\n".join(blocks))
    finished = subprocess.run(["curl", "--parallel", "--parallel-max", str(_AT_ONCE), "-K", str(file)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, timeout=_LONGEST)
    if finished.returncode != 0:
        raise NotMeasured(f"clients: curl ended with {finished.returncode}: {finished.stderr.strip()[-300:]}")


def _read(url):
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.read()

"""Runs the manual's Python client against a stack: URL and STUB are endpoints, TOKEN and OTHER files with a user's token each."""

import datetime
import os
import pathlib
import urllib.request

import client
from client import Cloakroom, CloakroomError

asked, sent = [], []
sends = client.send
client.send = lambda *request: sent.append(request[1]) or sends(*request)


def token(refused):
    asked.append(refused)
    return pathlib.Path(os.environ["TOKEN"]).read_text() if refused or len(asked) > 1 else "stale"


cloakroom = Cloakroom(os.environ["URL"], token)
first = cloakroom.credentials()
assert asked == [False, True], asked
assert first["credentials"]["sessionToken"] and first["prefixes"]["photos"].endswith("/"), first
assert cloakroom.credentials() is first and len(sent) == 2, "credentials are kept"
assert cloakroom.credentials("read", 900) is not first

data = os.urandom(20_000)
upload = cloakroom.upload(data, "image/jpeg")
results = cloakroom.renew([upload["objectKey"], *["assets/gone.bin"] * 100])
assert len(results) == 101 and results[0]["success"] and results[0]["key"] == upload["objectKey"], results[0]
assert {result["error"] for result in results[1:]} == {"not_found"}, results[1]
try:
    cloakroom.credentials("everything")
    raise SystemExit("a scope that is not there was given")
except CloakroomError as error:
    assert (error.status, error.code) == (403, "forbidden") and len(error.request_id) == 32, error
stub = os.environ["STUB"]
assert Cloakroom(stub, token).renew(["a"]) == [{"key": "a", "success": True}], "a 503 is retried"
assert Cloakroom(f"{stub}/cut", token).renew(["a"]) == [{"key": "a", "success": True}], "a response that breaks off is retried"

# Timeouts are a hundredth: 0.3 s.
opened = urllib.request.urlopen
urllib.request.urlopen = lambda request, timeout: opened(request, timeout=timeout / 100)
assert Cloakroom(stub, token).upload(bytes(20_000_000), "video/mp4")["objectKey"] == "a", "an upload may take long"
urllib.request.urlopen = opened


class Ahead(datetime.datetime):
    """The clock of a device, an hour ahead."""

    @classmethod
    def now(cls, zone=None):
        return super().now(zone) + datetime.timedelta(hours=1)


datetime.datetime = Ahead
device = Cloakroom(os.environ["URL"], token)
assert device.credentials() is device.credentials(), "credentials are kept whatever the device's clock"

user = {"token": "TOKEN"}
app = Cloakroom(os.environ["URL"], lambda refused: pathlib.Path(os.environ[user["token"]]).read_text())
assert app.credentials() is app.credentials(), "credentials are kept"
user["token"] = "OTHER"
other = app.credentials()
assert other["userId"] != first["userId"] and other["prefixes"] != first["prefixes"], "a former user's credentials are not given"
print("fine")

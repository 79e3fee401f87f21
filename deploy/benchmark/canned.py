"""The fixed answers of STS and S3, and questions to the server that answers slowly."""

import datetime
import json
import time
import urllib.request


def _utc(hours):
    instant = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=hours)
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def sts_answer():
    """AssumeRole's answer in AWS's shape and size, good for an hour, as asked: longer is refused."""
    token = "IQoJb3JpZ2luX2VjE" + "benchmark0123456" * 45
    return (
        '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">\n'
        "  <AssumeRoleResult>\n"
        "    <AssumedRoleUser>\n"
        "      <AssumedRoleId>AROAEXAMPLEEXAMPLE000:bench</AssumedRoleId>\n"
        "      <Arn>arn:aws:sts::000000000000:assumed-role/cloakroom-bench/bench</Arn>\n"
        "    </AssumedRoleUser>\n"
        "    <Credentials>\n"
        "      <AccessKeyId>ASIAIOSFODNN7EXAMPLE</AccessKeyId>\n"
        "      <SecretAccessKey>wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY</SecretAccessKey>\n"
        f"      <SessionToken>{token}</SessionToken>\n"
        f"      <Expiration>{_utc(hours=1)}</Expiration>\n"
        "    </Credentials>\n"
        "    <PackedPolicySize>32</PackedPolicySize>\n"
        "  </AssumeRoleResult>\n"
        "  <ResponseMetadata>\n"
        "    <RequestId>c6104cbe-af31-11e0-8154-cbc7ccf896c7</RequestId>\n"
        "  </ResponseMetadata>\n"
        "</AssumeRoleResponse>\n")


def s3_answer():
    """CopyObject's answer."""
    return ('<?xml version="1.0" encoding="UTF-8"?>\n'
            '<CopyObjectResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<LastModified>{_utc(hours=0)[:-1]}.000Z</LastModified>"
            "<ETag>&quot;9b2cf535f27731c974343645a3985328&quot;</ETag></CopyObjectResult>\n")


def ask_slow(port, path="peak"):
    """What the slow server counted since it was last asked: `peak` and others. `hold/N`: and it waits for N next."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as answer:
        return json.load(answer)


def reset_slow(port):
    """Waits until nothing of an earlier round is open, and begins to count."""
    deadline = time.monotonic() + 5
    while ask_slow(port)["inFlight"] > 0 and time.monotonic() < deadline:
        time.sleep(0.02)

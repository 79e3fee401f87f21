"""What an app does with boto3: credentials from cloakroom, S3 within its own prefix, refused outside, a refresh.

Usage: boto3_client.py S3_URL BUCKET OWN_KEY FOREIGN_KEY
"""

import datetime
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

url, bucket, own, foreign = sys.argv[1:]


def refused(call, **arguments):
    try:
        call(Bucket=bucket, **arguments)
    except ClientError as error:
        return error.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    return False


session = boto3.Session(region_name="us-east-1")
credentials = session.get_credentials()
assert credentials.method == "container-role", credentials.method
s3 = session.client("s3", endpoint_url=url, config=Config(s3={"addressing_style": "path"}))

s3.put_object(Bucket=bucket, Key=own, Body=b"from boto3")
assert s3.get_object(Bucket=bucket, Key=own)["Body"].read() == b"from boto3"
assert refused(s3.put_object, Key=foreign, Body=b"x")
assert refused(s3.get_object, Key=foreign)
assert refused(s3.list_objects_v2)
print("used")

# Fifty-one minutes later boto3 must not sign before it has asked again.
real = credentials._time_fetcher
credentials._time_fetcher = lambda: real() + datetime.timedelta(minutes=51)
assert credentials.refresh_needed(10 * 60)
s3.put_object(Bucket=bucket, Key=own, Body=b"again")
print("refreshed")

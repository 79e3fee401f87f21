"""200 calls of boto3 with credentials that it fetches anew for each, over an hour by its own clock.

Usage: boto3_short.py S3_URL BUCKET KEY
"""

import datetime
import sys

import boto3
from botocore.config import Config

url, bucket, key = sys.argv[1:]

session = boto3.Session(region_name="us-east-1")
credentials = session.get_credentials()
assert credentials.method == "container-role", credentials.method
s3 = session.client("s3", endpoint_url=url, config=Config(s3={"addressing_style": "path"}))
s3.put_object(Bucket=bucket, Key=key, Body=b"short")

# 18 seconds between calls. The worker's clock stands still meanwhile, so the client's goes back when the credentials at
# hand would have been replaced: after half of their life.
real = credentials._time_fetcher
for number in range(200):
    credentials._time_fetcher = lambda: real() + datetime.timedelta(seconds=number * 18 % 450)
    assert credentials.refresh_needed(), number
    s3.head_object(Bucket=bucket, Key=key)
print("200 calls")

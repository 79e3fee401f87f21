"""What clients of STS' own wire do: put, get, list, a refresh, and a foreign prefix, which they are refused.

Usage: web_identity.py CLIENT S3_URL BUCKET OWN_PREFIX FOREIGN_PREFIX

The environment is the manual's: AWS_ENDPOINT_URL_STS, AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN. Prints a line for each thing
that went as it should. Refreshes are seen eight minutes later by the client's own clock, past half of 900 s.
"""

import asyncio
import datetime
import io
import os
import sys

client, url, bucket, own, foreign = sys.argv[1:]
key = own + "a.parquet"
later = datetime.timedelta(minutes=8)


def boto3():
    import boto3
    from botocore.config import Config
    from botocore.exceptions import ClientError

    session = boto3.Session(region_name="us-east-1")
    credentials = session.get_credentials()
    assert credentials.method == "assume-role-with-web-identity", credentials.method
    s3 = session.client("s3", endpoint_url=url, config=Config(s3={"addressing_style": "path"}))
    s3.put_object(Bucket=bucket, Key=key, Body=b"photo")
    print("put")
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == b"photo"
    print("get")
    assert [each["Key"] for each in s3.list_objects_v2(Bucket=bucket, Prefix=own)["Contents"]] == [key]
    print("list")
    real = credentials._time_fetcher
    credentials._time_fetcher = lambda: real() + later
    s3.head_object(Bucket=bucket, Key=key)
    print("refresh")
    try:
        s3.put_object(Bucket=bucket, Key=foreign + "a", Body=b"x")
    except ClientError as error:
        assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 403, error
        print("refused")


async def s3fs():
    import s3fs

    store = s3fs.S3FileSystem(
        client_kwargs={"endpoint_url": url, "region_name": "us-east-1"}, config_kwargs={"s3": {"addressing_style": "path"}},
        asynchronous=True)
    session = await store.set_session()
    await store._pipe_file(f"{bucket}/{key}", b"photo")
    print("put")
    assert await store._cat_file(f"{bucket}/{key}") == b"photo"
    print("get")
    assert await store._ls(f"{bucket}/{own.rstrip('/')}", detail=False) == [f"{bucket}/{key}"]
    print("list")
    credentials = store.s3._request_signer._credentials
    real = credentials._time_fetcher
    credentials._time_fetcher = lambda: real() + later
    store.invalidate_cache()
    await store._info(f"{bucket}/{key}")
    print("refresh")
    try:
        await store._pipe_file(f"{bucket}/{foreign}a", b"x")
    except PermissionError:
        print("refused")
    await session.close()


def minio():
    import minio
    from minio.credentials import WebIdentityProvider
    from minio.error import S3Error

    def token():
        with open(os.environ["AWS_WEB_IDENTITY_TOKEN_FILE"]) as file:
            return {"access_token": file.read()}

    provider = WebIdentityProvider(jwt_provider_func=token, sts_endpoint=os.environ["AWS_ENDPOINT_URL_STS"])
    s3 = minio.Minio(url.split("//")[1], credentials=provider, secure=False, region="us-east-1")
    s3.put_object(bucket, key, io.BytesIO(b"photo"), 5)
    print("put")
    assert s3.get_object(bucket, key).data == b"photo"
    print("get")
    assert [each.object_name for each in s3.list_objects(bucket, own)] == [key]
    print("list")
    # As ten seconds before the end.
    provider._credentials = None
    s3.stat_object(bucket, key)
    print("refresh")
    try:
        s3.put_object(bucket, foreign + "a", io.BytesIO(b"x"), 1)
    except S3Error as error:
        assert error.code == "AccessDenied", error
        print("refused")


def polars():
    import polars

    # It has its credentials from boto3.
    store = {"aws_endpoint_url": url, "aws_region": "us-east-1", "aws_allow_http": "true",
             "aws_virtual_hosted_style_request": "false"}
    credentials = polars.CredentialProviderAWS()
    frame = polars.DataFrame({"photo": [1, 2, 3]})

    def write(place):
        frame.write_parquet(f"s3://{bucket}/{place}", storage_options=store, credential_provider=credentials)

    write(key)
    print("put")
    read = polars.read_parquet(f"s3://{bucket}/{key}", storage_options=store, credential_provider=credentials)
    assert read.equals(frame)
    print("get")
    assert polars.scan_parquet(
        f"s3://{bucket}/{own}*.parquet", storage_options=store, credential_provider=credentials).collect().equals(frame)
    print("list")
    try:
        write(foreign + "a.parquet")
    except Exception as error:
        assert "403" in str(error) or "Forbidden" in str(error) or "permission" in str(error).lower(), error
        print("refused")


def obstore():
    import obstore
    from obstore.store import S3Store

    def store():
        return S3Store(bucket, endpoint=url, region="us-east-1", client_options={"allow_http": True})

    s3 = store()
    obstore.put(s3, key, b"photo")
    print("put")
    assert obstore.get(s3, key).bytes().to_bytes() == b"photo"
    print("get")
    assert [each["path"] for each in obstore.list(s3, own).collect()] == [key]
    print("list")
    obstore.head(store(), key)
    print("refresh")
    try:
        obstore.put(s3, foreign + "a", b"x")
    except Exception as error:
        assert "403" in str(error) or "Forbidden" in str(error) or "permission" in str(error).lower(), error
        print("refused")


done = globals()[client]()
if asyncio.iscoroutine(done):
    asyncio.run(done)

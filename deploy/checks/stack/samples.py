"""What the two are compared with: the runs of deploy/terraform/tests, and the parameters of the same in CloudFormation."""

import json

TOKENS = {"issuers": [{"issuer": "https://auth.example", "audiences": ["app"], "secret": {"file": "secrets/token"}}]}
WORKER = "arn:aws:iam::123456789012:role/cloakroom-worker"
APP = "arn:aws:iam::123456789012:role/cloakroom-app"
KEY = "arn:aws:kms:eu-central-1:123456789012:key/1234"
PROVIDER = "oidc.eks.eu-central-1.amazonaws.com/id/1"


def members(**sections):
    """Settings as JSON members, without the braces."""
    return json.dumps(sections)[1:-1]


LAYOUT = {"KeyPrefix": "assets/", "RenewalKeyPrefix": "", "LifecyclePrefix": "assets/"}
PLAIN = LAYOUT | {"Bucket": "my-assets", "OtherSettings": members(tokens=TOKENS)}

RUNS = {
    "plain": PLAIN | {"RenewalKeyPrefix": "assets/"},
    "everything": PLAIN | {
        "Versioning": "enabled",
        "KmsKeyArn": KEY,
        "CorsOrigins": "https://app.example",
        "KeyPrefix": "new/",
        "RenewalKeyPrefix": "new/",
        "Worker": "ecs",
        "Sharing": "true",
        "Doctor": "false",
        "LifecyclePrefix": "",
        "ExpiresUserFolders": "true",
        "Cdn": "true",
        "CdnAlias": "cdn.example",
        "CdnCertificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/1",
        "AlarmTopicArns": "arn:aws:sns:eu-central-1:123456789012:alarms",
        "TestBucket": "my-assets-test",
        "RevokedUserIds": "u_1,u_2",
        "RevokeSessionsBefore": "2026-11-22T12:00:00Z",
    },
    "versions": PLAIN | {"Versioning": "enabled"},
    "irsa": PLAIN | {
        "Worker": "irsa",
        "OidcProviderArn": f"arn:aws:iam::123456789012:oidc-provider/{PROVIDER}",
        "OidcIssuer": PROVIDER,
        "ServiceAccount": "production:cloakroom",
        "RenewsUsersFolders": "true",
    },
    "chats": PLAIN | {"Versioning": "enabled", "Cdn": "true", "ChatKeyPrefix": "chats/"},
    "tags_chats": PLAIN | {"ChatKeyPrefix": "chats/", "ChatRetentionDays": "8", "ReleaseMode": "tag"},
    "moves_chats": PLAIN | {
        "Versioning": "enabled", "Cdn": "true", "ChatKeyPrefix": "images/", "FormerChatKeyPrefix": "chats/",
    },
    "ends_chats": PLAIN | {"Cdn": "true", "FormerChatKeyPrefix": "chats/", "ReleaseMode": "tag"},
    "expires_photos": PLAIN | {
        "Versioning": "enabled",
        "KeyPrefix": "photos/",
        "LifecyclePrefix": "photos/",
        "ExpiresUserFolders": "true",
    },
    "keeps_everything": LAYOUT | {
        "Bucket": "my-assets",
        "UploadKeys": '[{"file": "/run/secrets/uploads"}]',
        "RetentionDays": "0",
        "Worker": "existing",
        "WorkerArn": "arn:aws:iam::123456789012:user/worker",
        "OtherSettings": members(
            tokens={"issuers": [{"preset": "apple", "clientIDs": ["com.example.photos"]}]},
            session={"issuer": "https://photos.example", "keys": [{"keyID": "1", "secret": {"file": "secrets/session"}}]},
        ),
    },
}

# Values of LifecyclePrefix that both refuse while ExpiresUserFolders is false, by the runs that show it of Terraform, and
# such as both take.
REFUSED = {
    "refuses_a_rule_for_users_folders": ["", "photos/", "thumbnails/", "metadata/", "catalogs/"],
    "refuses_a_rule_within_users_folders": ["photos/u_1/", "photos/u_1/2026/", "thumbnails/u_1/", "metadata/u/", "catalogs/u_1/"],
}
TAKEN = ["assets/", "assets/new/", "photos-of-2020/", "old/photos/"]


def words(run):
    """What stands for the words of deploy/iam in a run."""
    parameters = RUNS[run]
    existing = parameters.get("Worker") == "existing"
    folders = ["photos", "thumbnails", "metadata", "catalogs"]
    return {
        "PARTITION": "aws",
        "BUCKET": parameters["Bucket"],
        "TEST_BUCKET": parameters.get("TestBucket", ""),
        "PLACE": sorted({parameters["KeyPrefix"], parameters["RenewalKeyPrefix"]}),
        "OWN_PREFIX": "" if parameters["LifecyclePrefix"].rstrip("/") in folders else parameters["LifecyclePrefix"],
        "CHAT_PREFIX": [parameters[name] for name in ("ChatKeyPrefix", "FormerChatKeyPrefix") if parameters.get(name)],
        "FOLDER": folders,
        "WORKER_ARN": parameters["WorkerArn"] if existing else WORKER,
        "SESSION_ROLE_ARN": APP,
        "KMS_KEY_ARN": parameters.get("KmsKeyArn", ""),
        "REGION": "eu-central-1",
        "DNS_SUFFIX": "amazonaws.com",
        "SERVICE_ACCOUNT": parameters.get("ServiceAccount", ""),
        "SERVICE": {"ecs": "ecs-tasks.amazonaws.com"}.get(parameters.get("Worker"), "ec2.amazonaws.com"),
        "OIDC_PROVIDER_ARN": parameters.get("OidcProviderArn", ""),
        "OIDC_ISSUER": parameters.get("OidcIssuer", ""),
        "UPLOAD_MILLISECONDS": "900000",
        "DISTRIBUTION_ARN": "arn:aws:cloudfront::123456789012:distribution/E1",
        "USER_ID": parameters.get("RevokedUserIds", "").split(","),
        "BEFORE": parameters.get("RevokeSessionsBefore", ""),
    }

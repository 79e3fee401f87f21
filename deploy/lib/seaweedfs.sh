# shellcheck shell=bash
# For sourcing: an S3, STS and IAM server of our own, SeaweedFS, with an empty bucket at each start.
#
# Its data is discarded: a second start on old data takes over 10 s, and a polite stop 15 s. So it is killed, and
# stops at once.
: "${state:?}"

bucket=photos
region=us-east-1
# The worker's access key.
: "${broker:=cloakroom-broker}"
role=arn:aws:iam::000000000000:role/cloakroom-app
# shellcheck disable=SC2034 # for the caller
s3_log=seaweedfs
stop_hard seaweedfs

# Identities: admin makes the bucket, broker is the worker. What the broker may do is in iam.json, but for uploads as a
# form SeaweedFS looks at the actions here and nowhere else.
write_s3_config() {
    cat <<EOF
{
  "identities": [
    {
      "name": "admin",
      "credentials": [{"accessKey": "cloakroom-admin", "secretKey": "$(<"$state/secrets/s3-admin")"}],
      "actions": ["Admin", "Read", "Write", "List", "Tagging"]
    },
    {
      "name": "broker",
      "credentials": [{"accessKey": "$broker", "secretKey": "$(<"$state/secrets/s3-broker")"}],
      "actions": ["Write:$bucket"],
      "policyNames": ["BrokerPolicy"]
    }
  ]
}
EOF
}

# The role that apps get, narrowed by the worker's session policy at each vending; and the broker's own rights:
# to assume it, and to renew and presign in the bucket. ListBucket makes a missing key a 404 instead of a 403.
# SeaweedFS knows no sts:TagSession: it refuses a trust policy that names it, and takes tags without it.
write_iam_config() {
    cat <<EOF
{
  "sts": {
    "tokenDuration": "1h",
    "maxSessionLength": "12h",
    "issuer": "cloakroom-local",
    "signingKey": "$(head -c 32 "$state/secrets/sts-signing" | base64 -w 0)"
  },
  "policy": {"defaultEffect": "Deny", "storeType": "memory"},
  "policies": [
    {
      "name": "AppPolicy",
      "document": {
        "Version": "2012-10-17",
        "Statement": [
          {"Effect": "Allow", "Action": ["s3:*"], "Resource": ["arn:aws:s3:::$bucket", "arn:aws:s3:::$bucket/*"]}
        ]
      }
    },
    {
      "name": "BrokerPolicy",
      "document": {
        "Version": "2012-10-17",
        "Statement": [
          {"Effect": "Allow", "Action": ["sts:AssumeRole"], "Resource": ["$role"]},
          {"Effect": "Allow", "Action": ["s3:*"], "Resource": ["arn:aws:s3:::$bucket", "arn:aws:s3:::$bucket/*"]}
        ]
      }
    }
  ],
  "roles": [
    {
      "roleName": "${role##*/}",
      "roleArn": "$role",
      "attachedPolicies": ["AppPolicy"],
      "trustPolicy": {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": ["sts:AssumeRole"]}]
      }
    }
  ]
}
EOF
}

# start_seaweedfs S3_PORT VOLUME_PORT FILER_PORT MASTER_PORT: each also takes the port 10,000 higher, for gRPC.
start_seaweedfs() {
    local home=$state/seaweedfs
    rm -rf "$home"
    (umask 077 && mkdir -p "$home/data" && write_s3_config >"$home/s3.json" && write_iam_config >"$home/iam.json")
    seaweedfs_ports=("$@")

    # HOME: it reads settings from there. Loopback only, no telemetry, small volumes, no Iceberg and no Lance.
    local options=(
        "-logdir=$home" server "-dir=$home/data" -ip=127.0.0.1 -ip.bind=127.0.0.1 -master.telemetry=false
        -master.port="$4" -master.volumeSizeLimitMB=64
        -volume.port="$2" -volume.preStopSeconds=0 -volume.max=256
        -filer=true -filer.port="$3" "-filer.localSocket=$sockets/filer.sock"
        -s3 -s3.port="$1" "-s3.localSocket=$sockets/s3.sock" "-s3.config=$home/s3.json" "-s3.iam.config=$home/iam.json"
        -s3.port.iceberg=0 -s3.port.lance=0
    )
    start seaweedfs env "HOME=$home" "$CLOAKROOM_WEED" "${options[@]}"
    s3=http://127.0.0.1:$1
}

# Unsigned requests are refused once it knows its identities; about 3 s after the start.
seaweedfs_ready() { [[ $(curl -s -o /dev/null -w '%{http_code}' --max-time 2 "$s3/") == 403 ]]; }

# What a killed server leaves in /tmp: its gRPC sockets; no option puts them elsewhere.
forget_seaweedfs() {
    ((${#seaweedfs_ports[@]})) || return 0
    rm -f "/tmp/seaweedfs-s3-grpc-$((seaweedfs_ports[0] + 10000)).sock" \
        "/tmp/seaweedfs-volume-grpc-$((seaweedfs_ports[1] + 10000)).sock" \
        "/tmp/seaweedfs-filer-grpc-$((seaweedfs_ports[2] + 10000)).sock" \
        "/tmp/seaweedfs-master-grpc-$((seaweedfs_ports[3] + 10000)).sock"
}
seaweedfs_ports=()

# The bucket, and the rules that delete assets which are not renewed, and images of chats, after 30 days, as `cloakroom
# lifecycle apply` puts them.
make_bucket() {
    local rule=$state/seaweedfs/lifecycle.xml
    cat >"$rule" <<'EOF'
<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Rule><ID>expire-after-30-days-assets/</ID><Filter><Prefix>assets/</Prefix></Filter><Status>Enabled</Status><Expiration><Days>30</Days></Expiration></Rule><Rule><ID>expire-after-30-days-chats/</ID><Filter><Prefix>chats/</Prefix></Filter><Status>Enabled</Status><Expiration><Days>30</Days></Expiration></Rule><Rule><ID>expire-after-1-days-released-chats/</ID><Filter><And><Prefix>chats/</Prefix><Tag><Key>cloakroom-released</Key><Value>true</Value></Tag></And></Filter><Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule><Rule><ID>clean-up</ID><Filter><Prefix></Prefix></Filter><Status>Enabled</Status><AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule></LifecycleConfiguration>
EOF
    as_admin -X PUT "$s3/$bucket" || die "could not create the bucket"
    # curl 7.88 signs a query only with its `=`, and a file only with its digest given.
    as_admin -T "$rule" -H "x-amz-content-sha256: $(sha256sum "$rule" | cut -d ' ' -f 1)" "$s3/$bucket?lifecycle=" \
        || die "could not set the lifecycle rule"
}

# open_assets: an asset's URL is enough to read it, as where a content delivery network serves them; nothing else is open.
open_assets() {
    local policy=$state/seaweedfs/policy.json
    cat >"$policy" <<EOF
{"Version": "2012-10-17", "Statement": [
  {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::$bucket/assets/*"}
]}
EOF
    as_admin -T "$policy" -H "x-amz-content-sha256: $(sha256sum "$policy" | cut -d ' ' -f 1)" "$s3/$bucket?policy=" \
        || die "could not open the assets"
}

# as_admin CURL-OPTIONS…: the credentials go through a pipe, not through the command line.
as_admin() {
    curl -sS --fail-with-body --max-time 10 --aws-sigv4 "aws:amz:$region:s3" \
        -K <(printf 'user = "cloakroom-admin:%s"\n' "$(<"$state/secrets/s3-admin")") -o "$state/logs/bucket.log" "$@"
}

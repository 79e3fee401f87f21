# shellcheck shell=bash
# For sourcing: Ceph's RADOS Gateway, an S3, STS and IAM server that really expires objects, on 127.0.0.1 alone: one
# monitor, one OSD that keeps everything in memory, one gateway. Empty at each start; a lifecycle day is some seconds.
: "${root:?}" "${state:?}"

ceph_bucket=photos
ceph_region=us-east-1
ceph_role=cloakroom-app
stop_hard ceph-gateway
stop_hard ceph-osd
stop_hard ceph-monitor

need_ceph() { need_packages ceph-mon ceph-osd radosgw ceph-common curl jq; }

# write_ceph_config S3_PORT MONITOR_PORT DAY_SECONDS
write_ceph_config() {
    local home=$state/ceph
    cat <<EOF
[global]
fsid = $ceph_id
mon_host = [v2:127.0.0.1:$2]
mon_initial_members = a
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_ipv6 = false
ms_bind_msgr1 = false
# The OSD takes its ports from here: below 32768, as the others.
ms_bind_port_min = 27000
ms_bind_port_max = 29999
keyring = $home/keyring
run_dir = $home
admin_socket =
pid_file =
crash_dir = $home
log_file =
log_to_stderr = true
mon_cluster_log_file =
# One copy of everything.
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 4
osd_pool_default_pgp_num = 4
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0

[mon]
mon_data = $home/monitor
mon_allow_pool_size_one = true
mon_max_pg_per_osd = 1000
# A disk that is nearly full is not a reason to stop: the data is in memory.
mon_data_avail_warn = 1
mon_data_avail_crit = 1
paxos_propose_interval = 0.05
auth_allow_insecure_global_id_reclaim = false

[osd]
osd_data = $home/osd
osd_objectstore = memstore
memstore_device_bytes = 2147483648
# Debian 13 has them elsewhere than its OSD looks.
osd_class_dir = $(dirname "$(find /usr/lib -name libcls_version.so -print -quit)")
osd_class_load_list = *
osd_class_default_list = *

[client.gateway]
rgw_data = $home
rgw_frontends = beast endpoint=127.0.0.1:$1
rgw_s3_auth_use_sts = true
# Seals session tokens; 16 characters.
rgw_sts_key = $(head -c 16 "$state/secrets/sts-signing")
rgw_enable_usage_log = false
# A lifecycle day in seconds, or below 0 as long as it is; rules are applied around the clock.
rgw_lc_debug_interval = ${3/#0/-1}
rgw_lifecycle_work_time = 00:00-23:59
EOF
}

as_ceph() { timeout 20 "$@" -c "$state/ceph/ceph.conf"; }

# start_ceph S3_PORT MONITOR_PORT DAY_SECONDS: about 15 s, 0 for real days; then it is ready, with the broker's identity and the role.
start_ceph() {
    local home=$state/ceph ceph_id log=$state/logs/ceph-setup.log
    rm -rf "$home"
    ceph_id=$(</proc/sys/kernel/random/uuid)
    (umask 077 && mkdir -p "$home"/{monitor,osd} && write_ceph_config "$@" >"$home/ceph.conf")
    # shellcheck disable=SC2034 # for the caller
    ceph_s3=http://127.0.0.1:$1
    {
        ceph-authtool --create-keyring "$home/keyring" --gen-key -n mon. --cap mon 'allow *'
        ceph-authtool "$home/keyring" --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *'
        ceph-authtool "$home/keyring" --gen-key -n osd.0 --cap mon 'allow profile osd' --cap osd 'allow *'
        ceph-authtool "$home/keyring" --gen-key -n client.gateway --cap mon 'allow rw' --cap osd 'allow rwx'
        monmaptool --create --fsid "$ceph_id" --addv a "[v2:127.0.0.1:$2]" "$home/map"
        as_ceph ceph-mon -i a --mkfs --monmap "$home/map" --keyring "$home/keyring"
    } >"$log" 2>&1 || ceph_failed "$log"
    start ceph-monitor ceph-mon -f -i a -c "$home/ceph.conf"
    wait_for 30 "Ceph's monitor" as_ceph ceph --connect-timeout 3 mon stat
    {
        as_ceph ceph osd new "$(</proc/sys/kernel/random/uuid)"
        as_ceph ceph-osd -i 0 --mkfs --osd-uuid "$(as_ceph ceph osd dump -f json | jq -r '.osds[0].uuid')"
    } >>"$log" 2>&1 || ceph_failed "$log"
    start ceph-osd ceph-osd -f -i 0 -c "$home/ceph.conf"
    wait_for 30 "Ceph's OSD" ceph_osd_up
    make_ceph_identities 2>>"$log" || ceph_failed "$log"
    start ceph-gateway radosgw -f -n client.gateway -c "$home/ceph.conf"
    wait_for 60 "Ceph's gateway" ceph_ready
}

ceph_failed() {
    tail -n 15 "$1" >&2
    die "Ceph could not be set up; the whole story: $1"
}

ceph_osd_up() { as_ceph ceph --connect-timeout 3 osd stat -f json | jq -e '.num_up_osds == 1'; }

ceph_ready() { [[ $(curl -s -o /dev/null -w '%{http_code}' --max-time 2 "$ceph_s3/") == 200 ]]; }

# The broker is the worker: it will own the bucket, and may assume the role that apps get. Its keys are made by Ceph,
# and are in secrets/ceph.json.
make_ceph_identities() {
    local bucket=$ceph_bucket
    (umask 077 && as_ceph radosgw-admin user create --uid=broker --display-name=broker \
        | jq '.keys[0] | {id: .access_key, secret: .secret_key}' >"$state/secrets/ceph.json") || return
    as_ceph radosgw-admin role create --role-name="$ceph_role" --path=/ --assume-role-policy-doc \
        '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":["arn:aws:iam:::user/broker"]},"Action":["sts:AssumeRole"]}]}' \
        >/dev/null || return
    as_ceph radosgw-admin role-policy put --role-name="$ceph_role" --policy-name=photos --policy-doc \
        '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:*"],"Resource":["arn:aws:s3:::'"$bucket"'","arn:aws:s3:::'"$bucket"'/*"]}]}' \
        >/dev/null
}

# use_ceph: for scripts that otherwise use SeaweedFS, Ceph in its place, with an empty bucket.
use_ceph() {
    # shellcheck disable=SC2034 # for the caller
    {
        s3=$ceph_s3
        role=arn:aws:iam:::role/$ceph_role
        broker=$(jq -r .id "$state/secrets/ceph.json")
        s3_log=ceph-gateway
    }
    (umask 077 && jq -j .secret "$state/secrets/ceph.json" >"$state/secrets/s3-broker")
    make_ceph_bucket
}

make_ceph_bucket() { as_ceph_broker -X PUT "$ceph_s3/$ceph_bucket" || die "could not create the bucket on Ceph"; }

# as_ceph_broker CURL-OPTIONS…: the credentials go through a pipe, not through the command line.
as_ceph_broker() {
    curl -sS --fail-with-body --max-time 10 --aws-sigv4 "aws:amz:$ceph_region:s3" -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' \
        -K <(jq -r '"user = \"\(.id):\(.secret)\""' "$state/secrets/ceph.json") "$@"
}

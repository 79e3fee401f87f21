# shellcheck shell=bash
# For sourcing by deploy/simulation: starts a real server in a folder of its own, and holds the simulation's model against it.
: "${CLOAKROOM_SIMULATION:?}"

# Not in the state folder of others: a stack may be running there.
state=$(mktemp -d /tmp/cloakroom-comparison.XXXXXX)
mkdir -p "$state/logs" "$state/pids" "$state/secrets"
. deploy/lib/processes.sh
. deploy/lib/ports.sh
. deploy/lib/sockets.sh
trap tidy_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# compare STORE OPTION…: ends with the status of the comparison.
compare() {
    local store=${1:-} report='' words=() result=0
    shift || :
    while (($#)); do
        case $1 in
            --seed | --operations | --plant) words+=("$1" "${2:-}") ;;
            --report) report=$(realpath -m -- "${2:?--report wants a file}") ;;
            *) misused "unknown option $1 of --compare" ;;
        esac
        shift 2 || misused "$1 wants a value"
    done
    case $store in redis | valkey | seaweedfs | ceph) ;; *) misused "--compare wants one of redis, valkey, seaweedfs, ceph" ;; esac
    need_packages jq
    "start_compared_$store"
    "$CLOAKROOM_SIMULATION" --compare "${model:-$store}" --server "$server" \
        --explained Tests/Simulation/Comparison/differences.json "${words[@]}" >"$state/comparison" || result=$?
    grep -v '^summary ' "$state/comparison" || :
    sed -n 's/^summary //p' "$state/comparison" >"$state/summary.json"
    [[ -s $state/summary.json ]] || die "the comparison did not end: --compare $store ${words[*]}"
    jq -r --arg store "$store" '"\($store): \(.operations) operations, \(.unexplained) differences unexplained, " +
        "\([.explained[]] | add // 0) explained; seed \(.seed)"' "$state/summary.json"
    [[ -z $report ]] || write_report "$store" "$report"
    return "$result"
}

misused() {
    say "simulation: $*" >&2
    exit 2
}

tidy_up() {
    set +e
    stop_started
    ! declare -F forget_seaweedfs >/dev/null || forget_seaweedfs
    forget_sockets
    rm -rf "$state"
}

# write_report STORE FILE: what was found becomes this store's part of the report; the rest stays.
write_report() {
    local known='{}'
    [[ ! -s $2 ]] || known=$(<"$2")
    jq --arg store "$1" --arg commit "$(git rev-parse --short=12 HEAD 2>/dev/null || :)" --slurpfile summary "$state/summary.json" \
        '.models[$store] = {commit: $commit} + $summary[0]' <<<"$known" >"$state/report.json"
    cp "$state/report.json" "$2"
}

# MARK: The servers

start_compared_redis() { start_redis_program "${CLOAKROOM_REDIS_SERVER:-$(command -v redis-server)}"; }

start_compared_valkey() {
    # shellcheck disable=SC2034 # for compare
    model=redis
    start_redis_program "${CLOAKROOM_VALKEY_SERVER:?the path of valkey-server}"
}

start_redis_program() {
    server=$state/redis.sock
    start redis "${1:?no redis-server: apt-get install redis-server, or set CLOAKROOM_REDIS_SERVER}" --port 0 --unixsocket "$server" \
        --save '' --appendonly no --dir "$state"
    wait_for 30 Redis test -S "$server"
}

start_compared_seaweedfs() {
    local ports
    . deploy/lib/seaweedfs.sh
    for secret in s3-admin s3-broker sts-signing; do make_secret "$secret"; done
    make_sockets_folder
    ports=$(choose_ports 17600+10000 17700+10000 17800+10000 17900+10000) || die "no free ports on 127.0.0.1"
    # shellcheck disable=SC2086 # a word each
    start_seaweedfs $ports
    wait_for 60 SeaweedFS seaweedfs_ready
    as_admin -X PUT "$s3/$bucket" || die "could not create the bucket"
    use_key "$s3" cloakroom-admin "$(<"$state/secrets/s3-admin")"
}

start_compared_ceph() {
    local ports
    . deploy/lib/ceph.sh
    need_ceph
    make_secret sts-signing
    ports=$(choose_ports 17480 17300) || die "no free ports on 127.0.0.1"
    # shellcheck disable=SC2086 # a word each
    start_ceph $ports 0
    make_ceph_bucket
    use_key "$ceph_s3" "$(jq -r .id "$state/secrets/ceph.json")" "$(jq -r .secret "$state/secrets/ceph.json")"
}

# use_key URL ID SECRET: what the program signs with.
use_key() {
    server=$1
    export AWS_ACCESS_KEY_ID=$2 AWS_SECRET_ACCESS_KEY=$3
}

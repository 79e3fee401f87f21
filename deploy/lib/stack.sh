# shellcheck shell=bash
# For sourcing: the whole stack for checks, nginx, two workers, Redis and SeaweedFS on 127.0.0.1, in the state folder, which is
# the script's own.
: "${root:?}" "${state:?}"

mkdir -p "$state/logs" "$state/pids" "$state/secrets"
. deploy/lib/processes.sh
. deploy/lib/ports.sh
. deploy/lib/sockets.sh
. deploy/lib/redis.sh
. deploy/lib/seaweedfs.sh
. deploy/lib/nginx.sh
. deploy/lib/worker.sh

# Whatever way the script ends: what was started is stopped, and the folder goes.
tidy_up() {
    set +e
    stop_started
    forget_seaweedfs
    forget_sockets
    rm -rf "$state"
}
trap tidy_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# start_stack PORT LIMITS [BYTES]: at ports from PORT on, with these limits of users in the settings, and objects of so many bytes at
# most; about 8 s. Sets url.
start_stack() {
    local secret ports worker_sockets
    for secret in s3-admin s3-broker sts-signing token identity session uploads release; do make_secret "$secret"; done
    make_sockets_folder
    ports=$(choose_ports "$1" $(($1 + 1))+10000 $(($1 + 2))+10000 $(($1 + 3))+10000 $(($1 + 4))+10000) \
        || die "no free ports on 127.0.0.1"
    mapfile -t ports <<<"$ports"
    start_redis
    wait_for 30 Redis redis_ready
    start_seaweedfs "${ports[@]:1}"
    wait_for 30 SeaweedFS seaweedfs_ready
    make_bucket
    write_settings
    sed -i "s/^}\$/  limits: {$2},\n}/" "$state/settings.json5"
    # One part for each object: deploy/checks/document/narrow.py has this number, too.
    sed -i "s/^  uploads: {/&maximumBytes: ${3:-8388608}, /" "$state/settings.json5"
    "$CLOAKROOM_WORKER" check "$state/settings.json5" >"$state/logs/check.log" 2>&1 || {
        cat "$state/logs/check.log" >&2
        die "the settings do not pass"
    }
    start_workers "$state/settings.json5"
    mapfile -t worker_sockets < <(worker_sockets)
    wait_for 10 "the workers" sockets_exist "${worker_sockets[@]}"
    start_nginx "${ports[0]}" "${worker_sockets[@]}"
    wait_for 15 "the stack" workers_ready
}

# sign_token SECRET ISSUER USER: a token for ten minutes, signed with a secret of the stack.
sign_token() {
    python3 - "$state/secrets/$1" "$2" "$3" <<'PYTHON'
import base64, hashlib, hmac, json, sys, time

def part(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")

now = int(time.time())
claims = {"iss": sys.argv[2], "aud": "cloakroom", "sub": sys.argv[3], "iat": now, "exp": now + 600}
text = part(b'{"alg":"HS256","typ":"JWT"}') + b"." + part(json.dumps(claims).encode())
with open(sys.argv[1], "rb") as secret:
    print((text + b"." + part(hmac.new(secret.read(), text, hashlib.sha256).digest())).decode())
PYTHON
}

# start_session USER: a session token of the stack, signed in as apps do with Apple.
start_session() {
    jq -nc --arg token "$(sign_token identity https://accounts.localhost "$1")" '{identityToken: $token}' \
        | curl -sS --fail-with-body --max-time 10 -H 'Content-Type: application/json' --data-binary @- "${url:?}/api/v1/auth/session" \
        | jq -r .token
}

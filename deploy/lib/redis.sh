# shellcheck shell=bash
# For sourcing: a Redis of our own, on a unix socket, that keeps nothing.
: "${state:?}"

start_redis() {
    mkdir -p "$state/redis"
    cat >"$state/redis/redis.conf" <<EOF
# No TCP port: no other user can reach it, and no port can be taken.
port 0
unixsocket ${sockets:?}/redis.sock
unixsocketperm 700
# Counters live for an hour at most; a restart begins at zero.
save ""
appendonly no
dir $state/redis
# Keep the command line as it was started: that is how a left-behind process is recognised.
set-proc-title no
EOF
    start redis "${CLOAKROOM_REDIS_SERVER:-redis-server}" "$state/redis/redis.conf"
}

redis_ready() { [[ $(redis-cli -s "$sockets/redis.sock" PING) == PONG ]]; }

# shellcheck shell=bash
# For sourcing: a Redis of our own that keeps nothing; one server on a unix socket, or three behind three sentinels.
: "${state:?}"

redis_ports=() # of the three servers, the master's first
sentinel_ports=()

# What the settings say of it.
redis_settings() {
    if ((${#sentinel_ports[@]} == 0)); then
        printf '{address: "unix:%s"}' "${sockets:?}/redis.sock"
    else
        printf '{sentinels: [%s], master: "cloakroom", ' "$(printf '"127.0.0.1:%s", ' "${sentinel_ports[@]}")"
        printf 'password: {file: "%s"}, sentinelPassword: {file: "%s"}}' "$state/secrets/redis" "$state/secrets/sentinel"
    fi
}

# For people.
redis_place() {
    if ((${#sentinel_ports[@]} == 0)); then
        printf 'unix:%s' "$sockets/redis.sock"
    else
        printf 'master 127.0.0.1:%s, sentinels on ports %s' "${redis_ports[0]}" "${sentinel_ports[*]}"
    fi
}

start_redis() {
    mkdir -p "$state/redis"
    cat >"$state/redis/redis.conf" <<EOF
# No TCP port: no other user can reach it, and no port can be taken.
port 0
unixsocket ${sockets:?}/redis.sock
unixsocketperm 700
$(redis_common)
EOF
    start redis "${CLOAKROOM_REDIS_SERVER:-redis-server}" "$state/redis/redis.conf"
}

# start_redis_sentinel PORT…: three ports of servers, then three of sentinels.
start_redis_sentinel() {
    local port
    redis_ports=("${@:1:3}")
    sentinel_ports=("${@:4:3}")
    make_secret redis
    make_secret sentinel
    mkdir -p "$state/redis"
    # With passwords: ports are open to all users of this machine.
    (
        umask 077
        for port in "${redis_ports[@]}"; do
            cat >"$state/redis/$port.conf" <<EOF
port $port
bind 127.0.0.1
requirepass $(<"$state/secrets/redis")
masterauth $(<"$state/secrets/redis")
dbfilename $port.rdb
repl-diskless-sync-delay 0
# A master without a replica that follows takes no writes: it may have been replaced.
min-replicas-to-write 1
min-replicas-max-lag 1
$(redis_common)
EOF
            [[ $port == "${redis_ports[0]}" ]] || echo "replicaof 127.0.0.1 ${redis_ports[0]}" >>"$state/redis/$port.conf"
        done
        for port in "${sentinel_ports[@]}"; do
            cat >"$state/redis/$port.conf" <<EOF
port $port
bind 127.0.0.1
requirepass $(<"$state/secrets/sentinel")
dir $state/redis
set-proc-title no
sentinel monitor cloakroom 127.0.0.1 ${redis_ports[0]} 2
sentinel auth-pass cloakroom $(<"$state/secrets/redis")
sentinel sentinel-pass $(<"$state/secrets/sentinel")
sentinel down-after-milliseconds cloakroom 1000
EOF
        done
    )
    for port in "${redis_ports[@]}"; do
        start "redis-$port" "${CLOAKROOM_REDIS_SERVER:-redis-server}" "$state/redis/$port.conf"
    done
    for port in "${sentinel_ports[@]}"; do
        start "sentinel-$port" "${CLOAKROOM_REDIS_SERVER:-redis-server}" "$state/redis/$port.conf" --sentinel
    done
}

redis_common() {
    cat <<EOF
# Counters live for an hour at most; a restart begins at zero.
save ""
appendonly no
dir $state/redis
# Keep the command line as it was started: that is how a left-behind process is recognised.
set-proc-title no
EOF
}

redis_ready() {
    ((${#sentinel_ports[@]} > 0)) || { [[ $(redis-cli -s "$sockets/redis.sock" PING) == PONG ]]; return; }
    [[ $(REDISCLI_AUTH=$(<"$state/secrets/sentinel") redis-cli -p "${sentinel_ports[0]}" SENTINEL CKQUORUM cloakroom) == OK\ 3* ]] \
        && [[ $(REDISCLI_AUTH=$(<"$state/secrets/redis") redis-cli -p "${redis_ports[0]}" SET ready 1 PX 1) == OK ]]
}

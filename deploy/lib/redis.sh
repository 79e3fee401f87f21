# shellcheck shell=bash
# For sourcing: a Redis of our own that keeps nothing; one server on a unix socket, three behind three sentinels, or a cluster.
: "${state:?}"

redis_ports=() # of all servers; behind sentinels the master's first, of a cluster the three primaries'
sentinel_ports=()

# What the settings say of it.
redis_settings() {
    if ((${#redis_ports[@]} == 0)); then
        printf '{address: "unix:%s"}' "${sockets:?}/redis.sock"
    elif ((${#sentinel_ports[@]} == 0)); then
        printf '{cluster: [%s], ' "$(printf '"127.0.0.1:%s", ' "${redis_ports[@]:0:3}")"
        printf 'password: {file: "%s"}}' "$state/secrets/redis"
    else
        printf '{sentinels: [%s], master: "cloakroom", ' "$(printf '"127.0.0.1:%s", ' "${sentinel_ports[@]}")"
        printf 'password: {file: "%s"}, sentinelPassword: {file: "%s"}}' "$state/secrets/redis" "$state/secrets/sentinel"
    fi
}

# For people.
redis_place() {
    if ((${#redis_ports[@]} == 0)); then
        printf 'unix:%s' "$sockets/redis.sock"
    elif ((${#sentinel_ports[@]} == 0)); then
        printf 'cluster on 127.0.0.1, ports %s' "${redis_ports[*]}"
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
            write_server "$port" <<EOF
# A master without a replica that follows takes no writes: it may have been replaced.
min-replicas-to-write 1
min-replicas-max-lag 1
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

# start_redis_cluster PORT…: six ports; the first three become primaries.
start_redis_cluster() {
    local port
    redis_ports=("$@")
    make_secret redis
    mkdir -p "$state/redis"
    # What nodes of an earlier cluster knew of each other.
    rm -f "$state"/redis/nodes-*.conf
    (
        umask 077
        for port in "${redis_ports[@]}"; do
            write_server "$port" <<EOF
cluster-enabled yes
cluster-config-file nodes-$port.conf
cluster-node-timeout 1000
EOF
        done
    )
    for port in "${redis_ports[@]}"; do
        start "redis-$port" "${CLOAKROOM_REDIS_SERVER:-redis-server}" "$state/redis/$port.conf"
    done
    wait_for 10 "all nodes of the cluster" nodes_ready
    REDISCLI_AUTH=$(<"$state/secrets/redis") redis-cli --cluster create "${redis_ports[@]/#/127.0.0.1:}" --cluster-replicas 1 \
        --cluster-yes >"$state/logs/redis-cluster.log" 2>&1 || die "no cluster of Redis was made: see $state/logs/redis-cluster.log"
}

nodes_ready() {
    local port
    for port in "${redis_ports[@]}"; do
        [[ $(REDISCLI_AUTH=$(<"$state/secrets/redis") redis-cli -p "$port" PING) == PONG ]] || return
    done
}

# Of several servers one that has ended is no fault as long as another is left: so a failover can be seen.
forget_ended_redis() {
    local port pid left=0 ended=()
    for port in "${redis_ports[@]}"; do
        [[ -f $state/pids/redis-$port ]] || continue
        pid=$(<"$state/pids/redis-$port")
        if alive "$pid"; then left=$((left + 1)); else ended+=("$port"); fi
    done
    ((left > 0)) || return 0
    for port in "${ended[@]}"; do
        forget "redis-$port"
        say "The Redis server on port $port has ended; $left are left."
    done
}

# write_server PORT: the settings of one of several servers; those on standard input come besides.
write_server() {
    local more
    more=$(cat)
    cat >"$state/redis/$1.conf" <<EOF
port $1
bind 127.0.0.1
requirepass $(<"$state/secrets/redis")
masterauth $(<"$state/secrets/redis")
dbfilename $1.rdb
repl-diskless-sync-delay 0
$more
$(redis_common)
EOF
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
    if ((${#redis_ports[@]} == 0)); then
        [[ $(redis-cli -s "$sockets/redis.sock" PING) == PONG ]]
        return
    fi
    if ((${#sentinel_ports[@]} == 0)); then
        REDISCLI_AUTH=$(<"$state/secrets/redis") redis-cli -p "${redis_ports[0]}" CLUSTER INFO | grep -q '^cluster_state:ok'
        return
    fi
    [[ $(REDISCLI_AUTH=$(<"$state/secrets/sentinel") redis-cli -p "${sentinel_ports[0]}" SENTINEL CKQUORUM cloakroom) == OK\ 3* ]] \
        && [[ $(REDISCLI_AUTH=$(<"$state/secrets/redis") redis-cli -p "${redis_ports[0]}" SET ready 1 PX 1) == OK ]]
}

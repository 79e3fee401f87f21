package import CloakroomRedis

extension RedisError {
    /// Redis' own first word; `nil` when it has said none.
    package var code: String? {
        guard case .refused(let code) = self else { return nil }
        return code
    }

    /// The word, and what to do about it.
    var sentence: String { "\(code ?? label): \(advice)" }

    /// What an operator can do about it, in a sentence.
    package var advice: String {
        switch code {
        case "READONLY", "MASTERDOWN":
            "this Redis is a replica; point redis.address at the primary, or at a name that follows it"
        case "NOREPLICAS":
            "Redis has fewer replicas than its min-replicas-to-write; start them again, or lower that setting"
        case "OOM":
            "Redis has used up maxmemory; raise it, or find out what fills it with redis-cli --bigkeys"
        case "NOPERM":
            "the Redis user lacks a right; run the ACL SETUSER line of the manual's section on Redis"
        case "MISCONF":
            "Redis cannot write its snapshot to disk and stopped taking writes; free space there, its log has the cause"
        case "NOAUTH", "WRONGPASS": "set redis.username and redis.password as Redis has them"
        case "LOADING": "Redis is loading its data; it answers when that is done"
        case "BUSY": "a script has been running in Redis for long; end it with SCRIPT KILL"
        case "MAXCLIENTS": "Redis takes no more connections; raise its maxclients"
        case "CLUSTERDOWN", "MOVED":
            "redis.address is a node of a cluster; give a server or a proxy that takes all keys"
        case nil:
            "look whether Redis is running, and whether redis.address, redis.tls, redis.certificateAuthorities and the"
                + " network are right"
        default: "look into Redis' own log"
        }
    }
}

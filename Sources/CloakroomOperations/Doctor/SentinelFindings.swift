package import CloakroomRedis
package import CloakroomServer

/// Checks the sentinels one by one: workers get along without some of them, and without a word.
package struct SentinelFindings {
    private let statuses: [RedisSentinels.Status]
    private let redis: Settings.Redis
    private let replicaRefusals: [(replica: RedisAddress, error: RedisError)]
    private let check = CheckName.redis

    /// - Parameter replicaRefusals: by the master's replicas, of a connection as to the master.
    package init(
        _ statuses: [RedisSentinels.Status], _ redis: Settings.Redis,
        replicaRefusals: [(replica: RedisAddress, error: RedisError)] = []
    ) {
        self.statuses = statuses
        self.redis = redis
        self.replicaRefusals = replicaRefusals
    }

    package var all: [Finding] { [usable, masters, password, replicas].compactMap(\.self) }

    /// Redis does not replicate its users (redis.io, ACL).
    private var replicas: Finding? {
        guard !replicaRefusals.isEmpty else { return nil }
        let refusals = replicaRefusals.map { "\($0.replica) (\($0.error.code ?? $0.error.label))" }
        return check.error(
            "replicas refuse the user that the master takes: \(refusals.joined(separator: ", "))",
            why: "after a failover to one of them no request is served",
            advice: "run the manual's ACL SETUSER lines on each replica, too: Redis does not replicate users")
    }

    private var usable: Finding {
        let failures = statuses.compactMap { status in
            if case .failure(let error) = status.master { "\(status.sentinel) (\(error.label))" } else { nil }
        }
        guard !failures.isEmpty else { return check.ok("all \(statuses.count) sentinels name a master") }
        let found =
            "\(failures.count) of \(statuses.count) sentinels name no master: \(failures.joined(separator: ", "))"
        let advice =
            "start them, or correct redis.sentinels, redis.master, redis.sentinelUsername and redis.sentinelPassword"
        guard (statuses.count - failures.count) * 2 > statuses.count else {
            return check.error(
                found, why: "without more than half of them, workers may not follow a failover", advice: advice)
        }
        return check.warning(
            found, why: "when others fail as well, workers may not follow a failover", advice: advice)
    }

    private var masters: Finding? {
        let named = statuses.compactMap { status in
            (try? status.master.get()).map { (sentinel: status.sentinel, master: $0) }
        }
        guard Set(named.map(\.master)).count > 1 else { return nil }
        let pairs = named.map { "\($0.sentinel) names \($0.master)" }
        return check.warning(
            "the sentinels name different masters: \(pairs.joined(separator: ", "))",
            why: "one of them is behind, or knows another master by that name",
            advice: "once no failover is under way, compare the lines \"sentinel monitor\" of their sentinel.conf")
    }

    /// A sentinel that takes requests from all hosts takes `SENTINEL MONITOR` from all hosts.
    private var password: Finding? {
        let isOpen = statuses.contains { status in
            if case .success = status.master { !status.sentinel.isLoopback } else { false }
        }
        guard isOpen, redis.password != nil, redis.sentinelPassword == nil else { return nil }
        return check.warning(
            "the sentinels take requests without a password",
            why: "a client that reaches them can name another master, which then gets redis.password and all requests",
            advice: "give each sentinel a password (requirepass, or an ACL), and set redis.sentinelPassword")
    }
}

extension RedisAddress {
    fileprivate var isLoopback: Bool {
        switch self {
        case .unix: true
        case .internet(let host, _): host == "localhost" || host == "::1" || host.hasPrefix("127.")
        }
    }
}

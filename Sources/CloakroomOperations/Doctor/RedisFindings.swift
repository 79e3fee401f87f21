package import CloakroomRedis
package import CloakroomServer

/// The responses of Redis to the doctor.
package struct RedisObservations: Sendable {
    /// INFO's text.
    package var info: Result<String, RedisError>
    /// When Redis writes its data to disk, as CONFIG GET save has it; `nil` when it does not tell.
    package var save: String?
    /// In seconds, as CONFIG GET min-replicas-max-lag has it; `nil` when it does not tell.
    package var maximumLag: Int?
    /// Of one PING each.
    package var latencies: [Duration]
    /// What was refused of the workers' own scripts; `nil`: nothing, or none was run.
    package var script: RedisSelfTest.Refusal?
    /// Whether the script wrote, and removed what it wrote.
    package var scriptWrote: Bool

    package init(
        info: Result<String, RedisError>, save: String? = nil, latencies: [Duration] = [],
        script: RedisSelfTest.Refusal? = nil,
        scriptWrote: Bool = true
    ) {
        self.info = info
        self.save = save
        self.latencies = latencies
        self.script = script
        self.scriptWrote = scriptWrote
    }

    package var isReachable: Bool { if case .success = info { true } else { false } }
}

/// Checks a Redis: limits, users' records and shared credentials live in it.
package struct RedisFindings {
    private let observations: RedisObservations
    private let settings: Settings
    private let check = CheckName.redis
    /// In seconds; replicas report once a second. Redis' own default is 10.
    private static let longestLag = 2

    package init(_ observations: RedisObservations, _ settings: Settings) {
        self.observations = observations
        self.settings = settings
    }

    /// Of one server, or of each primary of a cluster: what they have in common once, and the rest with the server's name.
    package static func all(
        _ servers: [(name: String, observations: RedisObservations)], _ settings: Settings
    ) -> [Finding] {
        let findings = servers.map { RedisFindings($0.observations, settings).all }
        guard servers.count > 1 else { return findings.first ?? [] }
        let reached = zip(servers, findings).filter(\.0.observations.isReachable).map(\.1)
        let common = (reached.first ?? []).filter { finding in reached.allSatisfy { $0.contains(finding) } }
        return common
            + zip(servers, findings).flatMap { server, findings in
                findings.filter { !common.contains($0) }.map { $0.named(server.name) }
            }
    }

    package var all: [Finding] {
        let text: String
        switch observations.info {
        case .success(let answer): text = answer
        case .failure(let error): return [unreachable(error)]
        }
        let info = RedisInfo(text)
        return [
            version(info), role(info), replication(info), failover(info), script, latency, eviction(info),
            memory(info), persistence(info),
        ].compactMap(\.self)
    }

    private func unreachable(_ error: RedisError) -> Finding {
        if case .refused("NOPERM") = error {
            return check.warning(
                "Redis does not let us send INFO", why: "whether it may forget limits and users cannot be told",
                advice: "let the doctor's Redis user do +info, +ping and +config|get")
        }
        return check.error(
            "Redis does not respond: \(error.label)",
            why: "without it nothing is vended, and limits are each worker's own", advice: error.advice)
    }

    private func version(_ info: RedisInfo) -> Finding {
        let name = info["valkey_version"].map { "Valkey \($0)" } ?? "Redis \(info["redis_version"] ?? "of no version")"
        let parts = (info["redis_version"] ?? "").split(separator: ".").map { Int($0) ?? 0 }
        guard let major = parts.first, major >= 5 else {
            return check.error(
                name, why: "the audit's streams, and what scripts rely on, came with Redis 5",
                advice: "install Redis 7 or newer")
        }
        guard major > 6 || (major == 6 && parts.dropFirst().first ?? 0 >= 2) else {
            return check.warning(
                name, why: "its faults are no longer fixed", advice: "install Redis 7 or newer")
        }
        return check.ok(name)
    }

    private func role(_ info: RedisInfo) -> Finding? {
        switch info["role"] {
        case "master", nil: nil
        case .some(let role):
            check.error(
                "this Redis is a \(role)",
                why: "it refuses writes with READONLY: nothing is counted, nothing is vended",
                advice: "point redis.address at the primary, or at a name that follows it")
        }
    }

    /// A master that is cut off from its replicas does not know that one of them has taken its place.
    private func replication(_ info: RedisInfo) -> Finding? {
        let replicas = info.number("connected_slaves") ?? 0
        guard info["role"] == "master" else { return nil }
        // Redis has this line only when both settings are above 0 (`INFO`, min_slaves_good_slaves).
        if let good = info.number("min_slaves_good_slaves") {
            guard good > 0 else {
                return check.error(
                    "no replica is near enough for the master to take writes",
                    why: "it refuses them all (NOREPLICAS): nothing is counted, nothing is vended",
                    advice: "start the replicas, or see in the master's log why they do not follow")
            }
            let found = "\(good) of \(replicas) replicas are near enough for the master to take writes"
            guard let lag = observations.maximumLag, lag > Self.longestLag else { return check.ok(found) }
            return check.warning(
                "\(found), but min-replicas-max-lag is \(lag)",
                why: "a master that was cut off takes writes for so many seconds, and they are lost if it was replaced",
                advice: "set min-replicas-max-lag 1 in the master and in all replicas; \(Self.lasting(info))",
                command: Self.setting(["min-replicas-max-lag 1"], info))
        }
        // Without a replica to take its place, a single server and a cluster's primary are not replaced.
        let hasSentinels = if case .sentinels = settings.redis.servers { true } else { false }
        guard hasSentinels || replicas > 0 else { return nil }
        return check.warning(
            "the master takes writes without a replica that follows",
            why: "a master that was replaced goes on counting until it hears of that, and all it counted is lost",
            advice: (replicas < 2 ? "run two replicas, for a replica that becomes the master needs one; then " : "")
                + "set min-replicas-to-write 1 and min-replicas-max-lag 1 in the master and in all replicas; "
                + Self.lasting(info),
            command: Self.setting(["min-replicas-to-write 1", "min-replicas-max-lag 1"], info))
    }

    /// With the same settings a replica that becomes the master needs a replica, too.
    private func failover(_ info: RedisInfo) -> Finding? {
        guard info["role"] == "master", info.number("min_slaves_good_slaves") == 1 else { return nil }
        return check.warning(
            "only one replica is near enough for the master to take writes",
            why: "if this replica or the master fails, all writes are refused (NOREPLICAS): nothing is vended",
            advice: "run two replicas that follow. Where writes are refused already, start the failed server again, or"
                + " run redis-cli CONFIG SET min-replicas-to-write 0 on the master until a replica follows")
    }

    /// Several settings in one command came with Redis 7. What `CONFIG SET` changes is gone after a restart, and without a
    /// configuration file `CONFIG REWRITE` is an error.
    private static func setting(_ values: [String], _ info: RedisInfo) -> String {
        let commands = values.map { "CONFIG SET \($0)" } + (hasConfigurationFile(info) ? ["CONFIG REWRITE"] : [])
        return commands.map { "redis-cli \($0)" }.joined(separator: " && ")
    }

    /// How a setting outlives a restart, for the end of an advice.
    private static func lasting(_ info: RedisInfo) -> String {
        hasConfigurationFile(info)
            ? "run the commands on each server, for a replica becomes the master; where CONFIG REWRITE is an error, give the"
                + " setting where Redis is started as well"
            : "run it on each server, for a replica becomes the master; this Redis has no configuration file, so give the"
                + " setting where Redis is started as well"
    }

    /// INFO has the file's path, empty where Redis was started without one; managed Redis may leave it out.
    private static func hasConfigurationFile(_ info: RedisInfo) -> Bool { info["config_file"] != "" }

    private var script: Finding? {
        guard let refusal = observations.script else {
            return check.ok(observations.scriptWrote ? "scripts run and write" : "scripts run; writing was not tried")
        }
        return check.error(
            "a script is refused: \(refusal.error.label)", why: "workers need it for \(refusal.purpose)",
            advice: refusal.error.advice)
    }

    private var latency: Finding? {
        let sorted = observations.latencies.sorted()
        guard !sorted.isEmpty else { return nil }
        let (median, slow) = (sorted[sorted.count / 2], sorted[min(sorted.count - 1, sorted.count * 99 / 100)])
        let found = "PING takes \(Self.text(median)) at the median, \(Self.text(slow)) at the 99th percentile"
        let timeout = settings.redis.timeout
        guard slow * 2 > timeout else { return check.ok(found) }
        return check.warning(
            "\(found); redis.timeoutMilliseconds is \(timeout.milliseconds)",
            why: "responses that come later than the timeout count as an unreachable Redis",
            advice: "bring Redis nearer to the workers, or raise redis.timeoutMilliseconds")
    }

    private static func text(_ duration: Duration) -> String {
        let hundredths = Int((duration / .milliseconds(1) * 100).rounded())
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest) ms"
    }

    private func eviction(_ info: RedisInfo) -> Finding? {
        guard let policy = info["maxmemory_policy"] else { return nil }
        guard policy != "noeviction" else { return check.ok("eviction policy is noeviction") }
        let lost = info.number("evicted_keys").flatMap { $0 > 0 ? "; it has evicted \($0) keys already" : nil } ?? ""
        let advice =
            "set maxmemory-policy noeviction in Redis, and give Cloakroom a Redis of its own; \(Self.lasting(info))"
        let keep = Self.setting(["maxmemory-policy noeviction"], info)
        guard policy.hasPrefix("allkeys-"), let records else {
            return check.warning(
                "eviction policy is \(policy)\(lost)",
                why: "when memory is short, Redis forgets rate limits, which have an end, before all else",
                advice: advice, command: keep)
        }
        return check.error(
            "eviction policy is \(policy)\(lost)",
            why: "when memory is short, Redis forgets \(records.name): \(records.loss)",
            advice: advice, command: keep)
    }

    /// What has no end in Redis and is nowhere else; `nil`: nothing.
    private var records: (name: String, loss: String, remedy: String)? {
        let users = (
            name: "users' records", loss: "who was disabled or revoked comes back in",
            remedy: "set entitlements.enabled: false if no record is ever written"
        )
        let audit = (
            name: "the audit's lines", loss: "what was issued is not known any more",
            remedy: "use audit.file in place of audit.stream"
        )
        let hasAudit = if case .stream = settings.audit.destination { true } else { false }
        switch (settings.entitlements.enabled, hasAudit) {
        case (true, true):
            return (
                name: "\(users.name) and \(audit.name)", loss: "\(users.loss), and \(audit.loss)",
                remedy: "\(users.remedy), and \(audit.remedy)"
            )
        case (true, false): return users
        case (false, true): return audit
        case (false, false): return nil
        }
    }

    private func memory(_ info: RedisInfo) -> Finding? {
        guard let limit = info.number("maxmemory"), let used = info.number("used_memory") else { return nil }
        guard limit > 0 else {
            return check.warning(
                "maxmemory is 0: there is no limit",
                why: "a Redis that grows is killed by the system, with all it knows",
                advice: "set maxmemory in Redis to what its host can spare")
        }
        let percent = used / max(1, limit / 100)
        guard percent >= 80 else { return check.ok("\(percent) % of maxmemory are in use") }
        return check.warning(
            "\(percent) % of maxmemory are in use", why: "a full Redis refuses to count, and nothing is vended then",
            advice: "raise maxmemory, or find out what fills it", command: "redis-cli --bigkeys")
    }

    private func persistence(_ info: RedisInfo) -> Finding? {
        guard let records else { return nil }
        let name = records.name
        if info["aof_enabled"] == "1" {
            guard info["aof_last_write_status"] != "err" else { return failingDisk("its append-only file", name) }
            // After `CONFIG SET appendonly yes` the file has nothing before its first rewrite succeeds.
            guard info["aof_last_bgrewrite_status"] != "err" else {
                return failingDisk("its append-only file anew", name)
            }
            return check.ok("\(name) are kept in an append-only file")
        }
        guard info["rdb_last_bgsave_status"] != "err" else { return failingDisk("its snapshot", name) }
        let kept = observations.save.map { $0.isEmpty ? "are kept in memory alone" : "are on disk only in snapshots" }
        guard let kept else { return check.skipped("Redis does not tell whether it keeps \(name) on disk") }
        return check.warning(
            "\(name) \(kept)",
            why: "a restart of Redis forgets them, all or the latest: \(records.loss)",
            advice: "run the command on each server, never put appendonly yes in its file first: Redis would start with"
                + " an empty append-only file and lose all data. Wait until INFO persistence has"
                + " aof_rewrite_in_progress:0, aof_rewrite_scheduled:0 and aof_last_bgrewrite_status:ok. "
                + (Self.hasConfigurationFile(info)
                    ? "Then run redis-cli CONFIG REWRITE."
                    : "Then give appendonly yes where Redis is started, which has no configuration file.")
                + " Or \(records.remedy)",
            command: "redis-cli CONFIG SET appendonly yes")
    }

    private func failingDisk(_ what: String, _ name: String) -> Finding {
        check.error(
            "Redis could not write \(what)", why: "\(name) are lost with its next restart",
            advice: "look into Redis' log; its disk may be full")
    }
}

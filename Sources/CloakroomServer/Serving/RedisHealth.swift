package import CloakroomLoop
package import CloakroomRedis

/// Whether Redis does what requests need of it: a server may respond and yet refuse every count.
///
/// It runs the workers' own scripts from time to time, and as soon as a request was refused; one refused key alone does
/// not make it unhealthy. Nor does one primary of a cluster that refuses or is lost: the others' keys are served.
@LoopActor
package final class RedisHealth {
    private let redis: any RedisClient
    private let selfTest: RedisSelfTest
    private let log: Log
    /// Of each server one at most.
    private(set) var refusals: [RedisSelfTest.Refusal] = []
    /// Whether a server took all commands of the last self-test.
    private var hasPassed = false
    private var isChecking = false
    /// Of one step of the last self-test, on average; `nil` before the first, and when no server responded.
    private(set) var roundTrip: Duration?
    private let now: @Sendable () -> ContinuousClock.Instant

    /// Called for a self-test that fails, with the error that ended it, for each error once in ``period`` at most: while Redis
    /// refuses there are more of them. What requests meet is theirs to count.
    package var onFailure: (@LoopActor (RedisError) -> Void)?
    private var told: [(error: RedisError, until: ContinuousClock.Instant)] = []
    private static let period: Duration = .seconds(15)

    package init(
        redis: any RedisClient, selfTest: RedisSelfTest, log: Log,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.redis = redis
        self.selfTest = selfTest
        self.log = log
        self.now = now
    }

    /// In words, beginning with Redis' own word for it; `nil` when all is well.
    package var fault: String? {
        if let refusal = redis.refusal { return refusal.sentence() }
        guard redis.isReady else { return "no connection" }
        return hasPassed ? nil : refusals.first.map { $0.error.sentence(of: $0.server) }
    }

    /// What the server was at the last self-test, by what it did: a replica takes no writes.
    enum Role: String { case primary, replica, unknown }

    var role: Role {
        guard redis.isReady, roundTrip != nil else { return .unknown }
        switch hasPassed ? nil : refusals.first?.error.code {
        case "READONLY", "MASTERDOWN": return .replica
        default: return .primary
        }
    }

    /// Takes note that a request was not served.
    package func failed(_ error: RedisError) {
        // While Redis is unwell every request comes here: a check that is running needs no task beside it.
        guard case .refused = error, !isChecking else { return }
        LoopActor.spawn { [self] in await checkUntilWell() }
    }

    /// Checks every 15 seconds until the task is cancelled, and twice a second while something is wrong.
    package func watch() async {
        while !Task.isCancelled {
            await checkUntilWell()
            try? await LoopActor.sleep(for: Self.period)
        }
    }

    private func checkUntilWell() async {
        guard !isChecking else { return }
        isChecking = true
        defer { isChecking = false }
        repeat {
            await check()
            // Without one, but with a link that was given up for one, the check was cut off.
            guard !refusals.isEmpty || redis.refusal != nil else { return }
            try? await LoopActor.sleep(for: .milliseconds(500))
        } while !Task.isCancelled
    }

    private func check() async {
        var found: [RedisSelfTest.Refusal] = []
        var roundTrips: [Duration] = []
        var timeOfRefusal: Duration?
        // One after the other: so it is one request at a time, however many servers there are.
        for (server, tag) in redis.keyTags {
            let start = now()
            do throws(RedisError) {
                let refusal = try await selfTest.run(on: redis, tag: tag, of: server)
                let time = start.duration(to: now())
                if let refusal {
                    found.append(refusal)
                    tell(refusal.error)
                    timeOfRefusal = time
                } else {
                    roundTrips.append(time / selfTest.count)
                }
            } catch {
                // Whether it refuses still is not known, unless it is one of several and has no connection.
                if server == nil || error != .unavailable { found += refusals.filter { $0.server == server } }
                tell(error)
            }
        }
        hasPassed = !roundTrips.isEmpty
        if hasPassed {
            roundTrip = roundTrips.reduce(Duration.zero, +) / roundTrips.count
        } else {
            // A refusal ends the test early.
            roundTrip = timeOfRefusal.map { roundTrip ?? $0 }
        }
        note(found)
    }

    private func note(_ found: [RedisSelfTest.Refusal]) {
        let former = refusals
        guard found != former else { return }
        refusals = found
        for refusal in found where !former.contains(refusal) {
            log.warning(
                "Redis refuses commands",
                [
                    "code": .text(refusal.error.code ?? ""), "server": refusal.server.map { .text("\($0)") },
                    "advice": .text(refusal.error.advice), "for": .text(refusal.purpose),
                ])
        }
        if found.isEmpty { log.info("Redis takes commands again") }
    }

    private func tell(_ error: RedisError) {
        let time = now()
        told.removeAll { $0.until <= time }
        // Of several servers each may have an error of its own.
        guard !told.contains(where: { $0.error == error }) else { return }
        // The next one after a pause is to count, however the clocks are read.
        told.append((error: error, until: time + Self.period - .seconds(1)))
        onFailure?(error)
    }
}

extension RedisError {
    /// Redis' own first word; `nil` when it has said none.
    package var code: String? {
        guard case .refused(let code) = self else { return nil }
        return code
    }

    /// The word, the server where it is one of several, and what to do about it.
    func sentence(of server: RedisAddress? = nil) -> String {
        "\(code ?? label): \(server.map { "\($0): " } ?? "")\(advice)"
    }

    /// What an operator can do about it, in a sentence.
    package var advice: String {
        if case .tls(let failure) = self { return failure.cause.advice }
        return switch code {
        case "READONLY", "MASTERDOWN":
            "this Redis is a replica; point redis.address at the primary, or at a name that follows it; with"
                + " redis.sentinels the worker asks them again by itself"
        case "NOREPLICAS":
            "Redis has fewer replicas than its min-replicas-to-write; start them again, or lower that setting"
        case "OOM":
            "Redis has used up maxmemory; raise it, or find out what fills it with redis-cli --bigkeys"
        case "NOPERM":
            "the Redis user lacks a right; run the ACL SETUSER line of the manual's section on Redis"
        case "MISCONF":
            "Redis cannot write its snapshot to disk and stopped taking writes; free space there, its log has the cause"
        case "NOAUTH", "WRONGPASS":
            "set redis.username and redis.password as Redis has them, redis.sentinelUsername and redis.sentinelPassword as"
                + " its sentinels"
        case "NOMASTER": "the sentinels know no master of that name; set redis.master to the one in their sentinel.conf"
        case "LOADING": "Redis is loading its data; it answers when that is done"
        case "BUSY": "a script has been running in Redis for long; end it with SCRIPT KILL"
        case "MAXCLIENTS": "Redis takes no more connections; raise its maxclients"
        case "NOCLUSTER": "this Redis is no cluster; give it as redis.address"
        case "CLUSTERDOWN": "a part of the cluster has no primary; redis-cli --cluster check says which"
        case "MOVED", "ASK": "redis.address is a node of a cluster; give nodes of it in redis.cluster instead"
        case "TRYAGAIN": "slots of the cluster are being moved; it ends with that"
        case nil:
            "look whether Redis is running, and whether redis.address, redis.sentinels or redis.cluster, redis.tls,"
                + " redis.certificateAuthorities and the network are right"
        default: "look into Redis' own log"
        }
    }
}

extension RedisTLSFailure.Cause {
    /// What an operator can do about it, in a sentence.
    fileprivate var advice: String {
        switch self {
        case .certificateRequired:
            "Redis wants a certificate of its clients, and none is sent: set tls-auth-clients no in redis.conf"
        case .noTLS: "no TLS is spoken there: give the port of Redis' tls-port, or redis.tls: false"
        case .untrusted:
            "give in redis.certificateAuthorities the PEM file of the authority that Redis' certificate is of, and look"
                + " whether that is valid"
        case .otherName:
            "give a name that Redis' certificate is for in redis.address, redis.sentinels or redis.cluster, and let sentinels"
                + " and nodes of a cluster announce it"
        case .silence:
            "look whether the port is that of Redis' tls-port, for one without TLS waits as well, and whether Redis is busy"
        case .other:
            "look into Redis' own log: its tls-auth-clients has to be no, for no certificate is sent, and its tls-protocols"
                + " have TLSv1.2 or newer"
        }
    }
}

/// Every script and command that these settings have a worker send to Redis, run on keys of its own.
///
/// The keys stand behind `redis.keyPrefix` as all others do; each is gone when its step is done. On a cluster all keys of
/// a run lie in one slot.
package struct RedisSelfTest: Sendable {
    /// What Redis would not do.
    package struct Refusal: Sendable, Equatable {
        /// Such as `limits`.
        package let purpose: String
        package let error: RedisError
        /// Which of several it was.
        let server: RedisAddress?

        package init(purpose: String, error: RedisError, server: RedisAddress? = nil) {
            self.purpose = purpose
            self.error = error
            self.server = server
        }
    }

    private struct Probe {
        let purpose: String
        let request: RedisRequest
    }

    private let settings: Settings
    private let name: String
    /// How many round trips it is.
    let count: Int

    /// - Parameter name: of no other process.
    @LoopActor
    package init(_ settings: Settings, name: String) {
        self.settings = settings
        self.name = name
        count = Self.steps(settings, name: name, tag: "").count
    }

    @LoopActor
    private static func steps(_ settings: Settings, name: String, tag: String) -> [Probe] {
        let prefix = "\(settings.redis.keyPrefix)trial:\(name):{\(tag)}:"
        func step(_ purpose: String, _ call: RedisScript.Call, removing key: String) -> Probe {
            Probe(purpose: purpose, request: RedisRequest(call, beside: RedisCommand(["DEL", key])))
        }
        var steps = [
            step(
                "limits", RateLimiter.script.call(keys: [prefix + "limit"], arguments: ["1", "0", "1000"]),
                removing: prefix + "limit")
        ]
        if settings.entitlements.enabled {
            let user = prefix + "user"
            steps.append(Probe(purpose: "users' records", request: RedisRequest(UserRecords.read(key: user))))
            steps.append(
                step(
                    "changes of users' records",
                    UserRecords.script.call(keys: [user], arguments: ["2", "updated", "0", "disabled"]), removing: user)
            )
        }
        if !settings.vending.credentialCache.sharedKeys.isEmpty {
            let keys = [prefix + "cred", prefix + "cred:lock"]
            steps.append(
                step(
                    "shared credentials",
                    SharedCredentialCache.lookScript.call(keys: keys, arguments: ["", name, "1000"]), removing: keys[1])
            )
            steps.append(
                step(
                    "shared credentials",
                    SharedCredentialCache.finishScript.call(keys: keys, arguments: [name, "", "1000"]),
                    removing: keys[0]))
        }
        if case .stream = settings.audit.destination {
            let key = prefix + "audit"
            steps.append(
                step("the audit", AuditStream.script.call(keys: [key], arguments: ["1000", "{}"]), removing: key))
        }
        if let events = settings.events {
            let key = prefix + "events"
            steps.append(
                step("events", EventStream.addScript.call(keys: [key], arguments: ["1000", "{}"]), removing: key))
            if events.webhook != nil {
                steps.append(
                    step(
                        "events",
                        EventStream.takeScript.call(keys: [key], arguments: [name, "1", "-", "1", "1000", "0-1"]),
                        removing: key))
                steps.append(
                    step(
                        "events", EventStream.settleScript.call(keys: [key, key + ":dead"], arguments: ["0-1"]),
                        removing: key))
            }
        }
        return steps
    }

    /// - Parameters:
    ///   - tag: in braces in each key; see ``RedisClient/keyTags``.
    ///   - server: whose tag that is.
    /// - Returns: the first refusal; `nil` when there is none.
    /// - Throws: when Redis does not respond.
    @LoopActor
    package func run(
        on redis: any RedisClient, tag: String, of server: RedisAddress? = nil
    ) async throws(RedisError) -> Refusal? {
        for step in Self.steps(settings, name: name, tag: tag) {
            if let error = try await refusal(of: step.request, redis) {
                return Refusal(purpose: step.purpose, error: error, server: server)
            }
        }
        return nil
    }

    @LoopActor
    private func refusal(of request: RedisRequest, _ redis: any RedisClient) async throws(RedisError) -> RedisError? {
        let answer = await withCheckedContinuation { continuation in
            redis.send(request) { continuation.resume(returning: $0) }
        }
        switch answer {
        case .failure(.refused(let code)): return .refused(code: code)
        case .failure(let error): throw error
        case .reply(var cursor):
            for number in 0..<request.replies {
                cursor.goTo(reply: number)
                guard let error = cursor.refusal else { continue }
                // Of several servers of a cluster one may not respond.
                guard case .refused = error else { throw error }
                return error
            }
            return nil
        }
    }
}

package import CloakroomRedis
package import CloakroomLoop

/// Every script and command that these settings have a worker send to Redis, run on keys of its own.
///
/// The keys stand behind `redis.keyPrefix` as all others do; each is gone when its step is done.
package struct RedisSelfTest: Sendable {
    /// What Redis would not do.
    package struct Refusal: Sendable, Equatable {
        /// Such as `limits`.
        package let purpose: String
        package let error: RedisError

        package init(purpose: String, error: RedisError) {
            self.purpose = purpose
            self.error = error
        }
    }

    private struct Probe {
        let purpose: String
        let request: RedisRequest
    }

    private let steps: [Probe]

    /// - Parameter name: of no other process.
    @LoopActor
    package init(_ settings: Settings, name: String) {
        // One tag: on a cluster all keys of a step lie in one slot.
        let prefix = "\(settings.redis.keyPrefix)trial:{\(name)}:"
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
        self.steps = steps
    }

    /// - Returns: the first refusal; `nil` when there is none.
    /// - Throws: when Redis does not respond.
    @LoopActor
    package func run(on redis: RedisConnection) async throws(RedisError) -> Refusal? {
        for step in steps {
            if let error = try await refusal(of: step.request, redis) {
                return Refusal(purpose: step.purpose, error: error)
            }
        }
        return nil
    }

    @LoopActor
    private func refusal(of request: RedisRequest, _ redis: RedisConnection) async throws(RedisError) -> RedisError? {
        let answer = await withCheckedContinuation { continuation in
            redis.send(request) { continuation.resume(returning: $0) }
        }
        switch answer {
        case .failure(.refused(let code)): return .refused(code: code)
        case .failure(let error): throw error
        case .reply(var cursor):
            if let refusal = cursor.refusal { return refusal }
            guard request.replies == 2 else { return nil }
            cursor.goTo(reply: 1)
            return cursor.refusal
        }
    }
}

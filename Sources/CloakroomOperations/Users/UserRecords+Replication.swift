import CloakroomLoop
package import CloakroomRedis
package import CloakroomServer

/// On how many of Redis' replicas a change of a record is.
package enum RecordReplication: Sendable, Equatable {
    case replicas(reached: Int, of: Int)
    /// Sentinel or a cluster has none to take the master's place.
    case noReplicas
    /// Redis does not tell whether it has replicas, or how far they are.
    case unknown(RedisError)

    /// For the operator.
    package var sentence: String {
        switch self {
        case .replicas(0, let count):
            "none of Redis' \(count) replicas has it after a second: if the master fails now, it is lost; run this again"
        case .replicas(let reached, let count): "\(reached) of Redis' \(count) replicas have it"
        case .noReplicas:
            "Redis has no replicas: if the master fails, it is lost; start them, and run this again"
        case .unknown(let error):
            "how many of Redis' replicas have it is not known (\(error.label))"
                + (error == .refused(code: "NOPERM")
                    ? ": the Redis user needs +info and +wait" : "; run this again")
        }
    }
}

/// Why a change of a record that was to outlast a failover may not.
package enum RecordChangeError: Error, Sendable, Equatable {
    /// Nothing was changed.
    case records(UserRecordError)
    /// It was sent, and whether it was made is not known.
    case unknown(RedisError)
    /// It was made, and is not there: lost with a failover, or undone by another command.
    case lost

    /// For the operator; `nil` where nothing was changed.
    package var sentence: String? {
        switch self {
        case .records: nil
        case .unknown(let error):
            "whether the change was made is not known: Redis' response was lost (\(error.label)); run this again"
        case .lost:
            "the change was made, but the record does not have it: a failover lost it, or another command changed it; "
                + "run this again"
        }
    }
}

extension UserRecords {
    /// How long a change is repeated whose outcome is not known.
    package static let changeTimeout: Duration = .seconds(10)
    /// Until a client has followed a failover that had begun when the change was made.
    private static let failoverDelay: Duration = .milliseconds(500)

    /// Changes a record, and waits for a second at most until Redis' replicas have that (`WAIT`).
    ///
    /// Both are one request on one connection, so that the replicas are those of the server that took the change. Then the
    /// record is read: a master that has been replaced meanwhile has acknowledged a change that the new one lacks. Such a
    /// change is made again, and so is one whose response was lost; a repetition does no harm.
    ///
    /// - Parameter hasFailover: whether a replica may take the master's place: Sentinel or a cluster.
    /// - Returns: `nil` for a single server without replicas.
    package func applyReplicated(
        _ change: UserRecordChange, to user: UserID, hasFailover: Bool, timeout: Duration = changeTimeout
    ) async throws(RecordChangeError) -> RecordReplication? {
        let change = dated(change)
        let end = ContinuousClock.now + timeout
        var failure: RecordChangeError?
        repeat {
            do throws(RedisError) {
                let replication = try await write(change, user, hasFailover: hasFailover)
                if hasFailover { try? await LoopActor.sleep(for: Self.failoverDelay) }
                failure = .lost
                if try await holds(change, user) { return replication }
            } catch {
                // Refused, or not sent; unless it was sent before.
                guard failure != nil || error == .timeout || error == .interrupted else {
                    throw .records(UserRecordError(error))
                }
                failure = .unknown(error)
            }
            try? await LoopActor.sleep(for: .milliseconds(250))
        } while ContinuousClock.now < end && !Task.isCancelled
        throw failure ?? .lost
    }

    /// - Throws: when the record was not changed, or that is not known.
    private func write(
        _ change: UserRecordChange, _ user: UserID, hasFailover: Bool
    ) async throws(RedisError) -> RecordReplication? {
        let call = call(writing: change, user)
        let key = Self.key(of: user, prefix: keyPrefix)
        let count: Int
        do throws(RedisError) { count = try await replicaCount(key) } catch {
            _ = try await redis.run(call)
            return .unknown(error)
        }
        guard count > 0 else {
            _ = try await redis.run(call)
            return hasFailover ? .noReplicas : nil
        }
        let wait = RedisCommand(["WAIT", String(count), "1000"], near: key)
        let response = await withCheckedContinuation { continuation in
            redis.send(RedisRequest(call, followedBy: wait)) { continuation.resume(returning: $0) }
        }
        switch response {
        case .failure(let error): throw error
        case .reply(var cursor):
            if let refusal = cursor.refusal { throw refusal }
            cursor.goTo(reply: 1)
            if let refusal = cursor.refusal { return .unknown(refusal) }
            guard case .integer(let reached) = RedisReply(&cursor) else { return .unknown(.interrupted) }
            return .replicas(reached: reached, of: count)
        }
    }

    /// Of the server that has the key.
    private func replicaCount(_ key: String) async throws(RedisError) -> Int {
        guard case .text(let bytes) = try await redis.read(RedisCommand(["INFO", "replication"], near: key)),
            let count = RedisInfo(String(decoding: bytes, as: UTF8.self)).number("connected_slaves")
        else { throw .refused(code: "MALFORMED") }
        return count
    }
}

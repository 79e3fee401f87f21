import CloakroomLoop
package import CloakroomRedis

/// On how many of Redis' replicas a change of a record is.
package enum RecordReplication: Sendable, Equatable {
    case replicas(reached: Int, of: Int)
    /// Sentinel or a cluster has none to take the master's place.
    case noReplicas
    /// Redis does not tell whether it has replicas, or how far they are.
    case unknown(RedisError)

    /// Whether the change has to be made again, since a failover may lose it; where the server tells nothing, that would not help.
    package var needsRepetition: Bool {
        switch self {
        case .replicas(let reached, _): reached == 0
        case .noReplicas: true
        case .unknown(let error): !error.isLasting
        }
    }

    /// Whether there may be a replica without the change, which can take the master's place, and none is known with it.
    package var mayBeUndone: Bool { needsRepetition && self != .noReplicas }

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
                + (error.isLasting ? ": the Redis user needs +info and +wait" : "; run this again")
        }
    }
}

extension RedisError {
    /// Whether the server would respond the same again: its user lacks the right, or it lacks the command.
    var isLasting: Bool { ["NOPERM", "ERR", "MALFORMED"].contains { self == .refused(code: $0) } }
}

/// Why a change of a record that was to outlast a failover may not.
package enum RecordChangeError: Error, Sendable, Equatable {
    /// Nothing was changed.
    case records(UserRecordError)
    /// It was sent, and whether it was made is not known.
    case unknown(RedisError)
    /// It was made, and is not there: lost with a failover, or undone by another command.
    case lost

    fileprivate var records: UserRecordError {
        switch self {
        case .records(let error): error
        case .unknown(let error): .redis(error)
        case .lost: .redis(.interrupted)
        }
    }

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
    package static let failoverDelay: Duration = .milliseconds(500)

    /// Changes a record, and waits for a second at most until Redis' replicas have that (`WAIT`).
    ///
    /// Then the record is read: a master that has been replaced meanwhile has acknowledged a change that the new one lacks.
    /// Such a change is made again, and so is one whose response was lost; a repetition does no harm.
    ///
    /// - Parameter hasFailover: whether a replica may take the master's place: Sentinel or a cluster.
    /// - Returns: `nil` for a single server without replicas.
    package func applyReplicated(
        _ change: UserRecordChange, to user: UserID, hasFailover: Bool, timeout: Duration = changeTimeout
    ) async throws(RecordChangeError) -> RecordReplication? {
        let change = dated(change)
        let key = Self.key(of: user, prefix: keyPrefix)
        return try await replicated(hasFailover, timeout) { writes throws(UserRecordError) in
            do throws(RedisError) {
                try await send(change, user) { call throws(RedisError) in try await writes.send(call, key) }
            } catch {
                throw UserRecordError(error)
            }
        } isMade: { () throws(UserRecordError) in
            do throws(RedisError) { return try await holds(change, user) } catch { throw UserRecordError(error) }
        }
    }

    /// Ends what an owner shares with a user, and waits as ``applyReplicated(_:to:hasFailover:timeout:)`` does.
    ///
    /// - Parameter prefix: of one folder; `nil` for all.
    /// - Returns: what has ended.
    package func unshareReplicated(
        _ owner: UserID, with recipient: UserID, prefix: String? = nil, hasFailover: Bool,
        timeout: Duration = changeTimeout
    ) async throws(RecordChangeError) -> (ended: UserRecord.Shares, replication: RecordReplication?) {
        var before: [SharedFolder]?
        var ended = UserRecord.Shares()
        let replication = try await replicated(hasFailover, timeout) { writes throws(UserRecordError) in
            if before == nil { before = try await folders(of: owner, with: recipient, prefix: prefix) }
            let removed = try await sending(by: writes.send).unshare(owner, with: recipient, prefix: prefix)
            // Of a repetition, only what a failover had brought back.
            if ended.isEmpty { ended = removed }
        } isMade: { () throws(UserRecordError) in
            try await folders(of: owner, with: recipient, prefix: prefix).isEmpty
        }
        // The response that lists it may have been lost, and the repetition found nothing left.
        if ended.isEmpty, let before { ended = UserRecord.Shares(before) }
        return (ended, replication)
    }

    /// Ends all that a user shares and all that is shared with them, and waits as
    /// ``applyReplicated(_:to:hasFailover:timeout:)`` does.
    ///
    /// With whom the user shared is forgotten once no failover can bring that back: until then the next run ends it again.
    ///
    /// - Returns: all of it.
    /// - Throws: ``RecordChangeError``, or ``UserRecords/UnendedSharing`` for those with whom it could not be ended.
    package func endSharingReplicated(
        of user: UserID, hasFailover: Bool, timeout: Duration = changeTimeout
    ) async throws -> (ended: [Share], replication: RecordReplication?) {
        var ended: [Share] = []
        // What was there before an end that failed, or whose response was lost.
        var found: [Share] = []
        var unended: UnendedSharing?
        /// In the user's record.
        var kept: Set<UserID> = []
        func recipients() -> Set<UserID> { Set((ended + found).map(\.recipient)).subtracting([user]) }
        do throws(RecordChangeError) {
            let replication = try await replicated(hasFailover, timeout) { writes throws(UserRecordError) in
                let records = sending(by: writes.sendAhead)
                let former = recipients()
                let shares: [Share]
                do throws(UnendedSharing) {
                    (shares, kept) = try await records.endSharing(of: user, keepsRecipients: true)
                    unended = nil
                } catch {
                    (shares, unended) = (error.ended, error)
                    found += error.found
                }
                ended += shares.filter { !ended.contains($0) }
                if unended == nil {
                    // With the user's own record, a failover may have lost that it leads to them.
                    for recipient in former.subtracting(kept) { try await records.unshare(user, with: recipient) }
                    for owner in Set(found.filter { $0.recipient == user }.map(\.folder.owner)) {
                        try await records.unshare(owner, with: user)
                    }
                }
                await writes.waitForReplicas()
                if let unended { throw unended.error }
            } isMade: { () throws(UserRecordError) in
                for recipient in recipients().union(kept).subtracting([user]) {
                    guard try await folders(of: user, with: recipient).isEmpty else { return false }
                }
                return try await shares(with: user).shares.folders.isEmpty
            }
            if !kept.isEmpty, replication?.mayBeUndone != true {
                _ = try? await forgetFormerRecipients(of: user, at: .distantPast)
            }
            // Nothing is left of it.
            for share in found where !ended.contains(share) { ended.append(share) }
            return (ended, replication)
        } catch {
            // The next run no longer finds what has ended.
            guard unended != nil || !(ended + found).isEmpty else { throw error }
            let users = recipients().union([user]).sorted { $0.text < $1.text }
            var unended = unended ?? UnendedSharing(users: users, error: error.records)
            for share in found where !ended.contains(share) {
                guard let left = try? await shares(with: share.recipient).shares.folders,
                    !left.contains(share.folder)
                else { continue }
                ended.append(share)
            }
            unended.ended = ended
            throw unended
        }
    }

    /// Makes a change until it is seen to be made, or the time is up.
    package func replicated(
        _ hasFailover: Bool, _ timeout: Duration,
        _ change: @LoopActor (ReplicatedWrites) async throws(UserRecordError) -> Void,
        isMade: @LoopActor () async throws(UserRecordError) -> Bool
    ) async throws(RecordChangeError) -> RecordReplication? {
        let end = ContinuousClock.now + timeout
        var failure: RecordChangeError?
        repeat {
            do throws(UserRecordError) {
                let writes = ReplicatedWrites(redis, hasFailover: hasFailover)
                try await change(writes)
                if hasFailover { try? await LoopActor.sleep(for: Self.failoverDelay) }
                failure = .lost
                if try await isMade() { return writes.replication }
            } catch {
                // Refused, or not sent; unless it was sent before.
                guard case .redis(let error) = error, failure != nil || error == .timeout || error == .interrupted
                else {
                    throw .records(error)
                }
                failure = .unknown(error)
            }
            try? await LoopActor.sleep(for: .milliseconds(250))
        } while ContinuousClock.now < end && !Task.isCancelled
        throw failure ?? .lost
    }
}

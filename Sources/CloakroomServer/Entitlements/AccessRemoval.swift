package import CloakroomLoop
package import CloakroomRedis

/// Ends a user's access for an issuer, which sends its notification again until it is told that this is done.
///
/// Where a replica may take the master's place, the change is to outlast that: it waits as commands do, on a connection of its
/// own, since `WAIT` holds up all that is sent on the same one.
@LoopActor
package struct AccessRemoval {
    /// Connects to Redis anew; the connection is closed after the change.
    package typealias Connect = @LoopActor () throws -> any RedisClient

    /// Why it is to be done again, for the log.
    enum Failure: String, Error {
        case redis
        /// Replicas do not have it yet.
        case replicas
    }

    private let users: UserRecords
    private let connect: Connect?
    private let timeout: Duration
    private let log: Log

    private static let connectTimeout: Duration = .seconds(2)

    /// - Parameters:
    ///   - connect: `nil` for a single server.
    ///   - timeout: how long a change is repeated whose outcome is not known; there are two of them.
    package init(_ users: UserRecords, connect: Connect?, timeout: Duration, log: Log) {
        self.users = users
        self.connect = connect
        self.timeout = timeout
        self.log = log
    }

    /// Disables the user, and ends all that the user shares and all that is shared with them.
    func run(for user: UserID, reason: String) async throws(Failure) {
        guard let connect else { return try await disable(user, reason) }
        guard let redis = try? connect() else { throw .redis }
        defer { redis.close() }
        await redis.settle(within: Self.connectTimeout)
        try await disable(user, reason, replicatedBy: users.over(redis))
    }

    private func disable(_ user: UserID, _ reason: String) async throws(Failure) {
        do throws(UserRecordError) { try await users.disable(user, reason: reason) } catch { throw .redis }
        do throws(UserRecords.UnendedSharing) { _ = try await users.endSharing(of: user) } catch {
            try check(error, user)
        }
    }

    private func disable(_ user: UserID, _ reason: String, replicatedBy records: UserRecords) async throws(Failure) {
        var change = UserRecordChange()
        change.disabled(reason)
        let disabled: RecordReplication?
        do throws(RecordChangeError) {
            disabled = try await records.applyReplicated(change, to: user, hasFailover: true, timeout: timeout)
        } catch {
            throw .redis
        }
        // What is shared ends as well where replicas are late: the issuer may not send its notification again for long.
        let ended: RecordReplication?
        do {
            ended = try await records.endSharingReplicated(of: user, hasFailover: true, timeout: timeout).replication
        } catch let error as UserRecords.UnendedSharing {
            try check(error, user)
            ended = nil
        } catch {
            throw .redis
        }
        try check(.leastReplicated(disabled, ended), user)
    }

    private func check(_ replication: RecordReplication?, _ user: UserID) throws(Failure) {
        switch replication {
        case nil, .replicas(1..., _)?: return
        case .noReplicas?:
            log.warning(
                "user disabled, but Redis has no replicas: a failover may undo it", ["user": .text(user.text)])
        case .unknown(let error)? where error.isLasting:
            log.warning(
                "user disabled, but Redis' replicas are not known: a failover may undo it; worker needs +info and +wait",
                ["user": .text(user.text), "redis": .text(error.label)])
        case .replicas?, .unknown?: throw .replicas
        }
    }

    /// Records of which none can be read are for the operator; another attempt would not help.
    private func check(_ error: UserRecords.UnendedSharing, _ user: UserID) throws(Failure) {
        let users = error.users.map(\.text).joined(separator: " ")
        log.error("what a user shares is not ended", ["user": .text(user.text), "with": .text(users)])
        if case .redis = error.error { throw .redis }
    }
}

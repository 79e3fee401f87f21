package import CloakroomAWS
import CloakroomCrypto
package import CloakroomLoop
import CloakroomRedis
package import CloakroomServer

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Takes back what a user was vended: stops vending at once, and has IAM deny the sessions that are out.
@LoopActor
package struct Revocation {
    package enum RevocationError: Error, Sendable, Equatable {
        case records(RecordChangeError)
        /// This host's clock and Redis' are too far apart to tell which sessions are older.
        case clocks(own: Date, redis: Date)
        case iam(AWSError)
        /// IAM's response was lost: it may deny this from now on, and the next run reads a policy that no longer tells who was
        /// moved.
        case unconfirmed(Denial, AWSError)
        case policy(RevocationPolicy.PolicyError)
        /// The role's other inline policies leave too little room for the policy, even for its shortest form.
        case noRoom(deniesAll: Bool)
        /// Another revocation has been writing the policy for too long.
        case busy
        /// The credentials are of this account, the role is not.
        case otherAccount(String)
        /// STS does not say whose the credentials are.
        case unknownAccount(AWSError)
    }

    /// What AWS allows for a session (AssumeRole, parameter DurationSeconds): settings may have been other once.
    private static let longestSession: Duration = .seconds(43_200)
    /// How far this host's clock may be from Redis' and from AWS'.
    package static let largestSkew: TimeInterval = 60

    private let records: UserRecords
    private let requestDeadline: Duration
    private let leeway: Duration
    private let hasFailover: Bool
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - requestDeadline: how long a request that was let in before may go on.
    ///   - leeway: how far ahead of ours a clock may be that dated a token before.
    ///   - hasFailover: whether Redis is a Sentinel's or a cluster.
    package init(
        records: UserRecords, requestDeadline: Duration = .zero, leeway: Duration = .zero, hasFailover: Bool = false,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.records = records
        self.requestDeadline = requestDeadline
        self.leeway = leeway
        self.hasFailover = hasFailover
        self.now = now
    }

    /// When all sessions have ended by themselves that are from before a time.
    package static func end(ofSessionsBefore time: Date) -> Date {
        time.addingTimeInterval(TimeInterval(longestSession.components.seconds))
    }

    // MARK: The time

    /// The later of two clocks: this host's, and that of the Redis server that has the user's record. By one that is slow,
    /// sessions would count as later than the revocation.
    ///
    /// - Returns: whether Redis told its time (`INFO`), as well.
    /// - Throws: ``RevocationError/clocks(own:redis:)``; nothing is changed then.
    package func currentTime(for user: UserID) async throws(RevocationError) -> (time: Date, isCompared: Bool) {
        let before = now()
        let theirs = await redisTime(user)
        let after = now()
        guard let theirs else { return (after, false) }
        let skew = max(theirs.timeIntervalSince(after), before.timeIntervalSince(theirs))
        guard skew <= Self.largestSkew else { throw .clocks(own: after, redis: theirs) }
        return (max(after, theirs), true)
    }

    /// - Returns: `nil` when Redis does not tell it.
    private func redisTime(_ user: UserID) async -> Date? {
        let key = UserRecords.key(of: user, prefix: records.keyPrefix)
        guard case .text(let bytes)? = try? await records.redis.read(RedisCommand(["INFO", "server"], near: key)),
            let microseconds = RedisInfo(String(decoding: bytes, as: UTF8.self)).number("server_time_usec")
        else { return nil }
        return Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }

    // MARK: Vending

    /// Before which sessions and tokens count as revoked by a command; the parameters are those of
    /// ``init(records:requestDeadline:leeway:hasFailover:now:)``.
    package static func time(of command: Date, requestDeadline: Duration, leeway: Duration) -> Date {
        command.addingTimeInterval(Double(max(requestDeadline, leeway).milliseconds) / 1000)
    }

    /// What a stop of vending came to.
    package struct Stop: Sendable {
        /// Before which sessions count as revoked: by the record, where the later of several revocations stands.
        package let time: Date
        /// On how many replicas that is.
        package let replication: RecordReplication?
        /// Why workers' credentials are still in Redis; `nil` where they are not.
        package let undropped: UserRecordError?
    }

    /// From the return on nothing that was issued before is handed out.
    ///
    /// Requests that were let in before may still be waiting for STS then: what they get within the request's deadline
    /// counts as revoked too, and so does every sign-in of that time. A token from before may be dated later, by the
    /// leeway at most, and a worker that sees it only then goes by that date. Both count from the command, so the longer
    /// of the two holds for both.
    ///
    /// - Parameters:
    ///   - disables: whether nothing new is vended either.
    ///   - time: ``currentTime(for:)``; `nil` for this host's.
    /// - Throws: ``RevocationError/records(_:)``.
    package func stopVending(
        to user: UserID, disables: Bool, at time: Date? = nil
    ) async throws(RevocationError) -> Stop {
        let time = Self.time(of: time ?? now(), requestDeadline: requestDeadline, leeway: leeway)
        var change = UserRecordChange()
        change.revokedBefore(time)
        if disables { change.disabled("revoked") }
        let replication: RecordReplication?
        do throws(RecordChangeError) {
            replication = try await records.applyReplicated(change, to: user, hasFailover: hasFailover)
        } catch {
            throw .records(error)
        }
        let recorded = try? await records.record(of: user)?.revokedBefore
        // No worker returns them, since they are older than the record says, and they expire.
        var undropped: UserRecordError?
        do throws(UserRecordError) { _ = try await records.dropCredentials(of: user) } catch { undropped = error }
        return Stop(time: max(time, recorded ?? time), replication: replication, undropped: undropped)
    }

    // MARK: IAM

    /// By how many seconds AWS' clock, which dates sessions, is ahead of this host's.
    ///
    /// IAM's requests name a role without its account: with credentials of another account they would change the role of
    /// that name there.
    ///
    /// - Parameter sts: with the credentials that write to IAM.
    /// - Returns: 0 also for a clock that is behind, and where STS does not tell its time.
    /// - Throws: ``RevocationError/otherAccount(_:)`` or ``RevocationError/unknownAccount(_:)``.
    package func verify(
        _ role: SessionRole, sts: STSClient, deadline: ContinuousClock.Instant
    ) async throws(RevocationError) -> TimeInterval {
        let identity: CallerIdentity
        do throws(AWSError) { identity = try await sts.callerIdentity(deadline: deadline) } catch {
            throw .unknownAccount(error)
        }
        if let account = role.account, account != identity.account { throw .otherAccount(identity.account) }
        return max(0, identity.time?.timeIntervalSince(now()) ?? 0)
    }

    /// What a denial came to.
    package struct Denial: Sendable, Equatable {
        /// With each user's own time, also where all share the latest in what was written.
        package let policy: RevocationPolicy
        /// The users whose sessions from after their own revocation are denied from now on, too.
        package let moved: Set<UserID>
    }

    /// Has IAM deny requests of the user's sessions from before that time; this takes up to minutes to hold everywhere.
    ///
    /// - Parameter deniesAll: whether the sessions of all users are denied where the policy has no room for one more.
    package func deny(
        _ user: UserID, before time: Date, role: String, iam: IAMClient, deniesAll: Bool = false,
        deadline: ContinuousClock.Instant
    ) async throws(RevocationError) -> Denial {
        let token = randomBytes(16).hexadecimal
        guard try await locked(by: token) else { throw .busy }
        let result = await written(user, time, role, iam, deniesAll, deadline)
        // It ends by itself when this fails.
        _ = try? await records.redis.run(Self.unlock.call(keys: [lockKey], arguments: [token]))
        return try result.get()
    }

    /// IAM replaces the policy as a whole: two who read it at once would each forget the other's user.
    private func written(
        _ user: UserID, _ time: Date, _ role: String, _ iam: IAMClient, _ deniesAll: Bool,
        _ deadline: ContinuousClock.Instant
    ) async -> Result<Denial, RevocationError> {
        do {
            let text = try await iam.policy(RevocationPolicy.name, ofRole: role, deadline: deadline)
            var policy =
                try text.map { text throws(RevocationPolicy.PolicyError) in try RevocationPolicy(parsing: text) }
                ?? RevocationPolicy()
            policy.drop(at: now(), lifetime: Self.longestSession)
            policy.revoke(user, before: time)
            let moved = try await put(&policy, role, iam, deniesAll, deadline)
            return .success(Denial(policy: policy, moved: moved))
        } catch let error as RevocationError {
            return .failure(error)
        } catch let fault as AWSError {
            return .failure(.iam(fault))
        } catch let failure as RevocationPolicy.PolicyError {
            return .failure(.policy(failure))
        } catch {
            return .failure(.busy)
        }
    }

    /// How much room the role's other inline policies leave, IAM tells by refusing what has none: then comes the next shorter
    /// form.
    ///
    /// - Returns: the users whose time is a later one than their own in what was written.
    private func put(
        _ policy: inout RevocationPolicy, _ role: String, _ iam: IAMClient, _ deniesAll: Bool,
        _ deadline: ContinuousClock.Instant
    ) async throws(RevocationError) -> Set<UserID> {
        var limit = RevocationPolicy.maximumLength
        while true {
            let document: String
            let moved: Set<UserID>
            do throws(RevocationPolicy.PolicyError) {
                document =
                    try deniesAll ? policy.textDenyingAllIfNeeded(within: limit) : policy.text(within: limit)
                moved = try policy.users(movedBy: document)
            } catch {
                guard limit < RevocationPolicy.maximumLength else { throw .policy(error) }
                throw .noRoom(deniesAll: deniesAll)
            }
            var counts = AttemptCounts()
            do throws(AWSError) {
                try await iam.put(
                    document, as: RevocationPolicy.name, ofRole: role, deadline: deadline, counts: &counts)
                return moved
            } catch {
                guard error.code == "LimitExceeded" else {
                    guard counts.mayHaveActed(before: error) else { throw .iam(error) }
                    throw .unconfirmed(Denial(policy: policy, moved: moved), error)
                }
                limit = document.utf8.count - 1
            }
        }
    }

    // MARK: One at a time

    private var lockKey: String { "\(records.keyPrefix)lock:revocations" }

    private func locked(by token: String) async throws(RevocationError) -> Bool {
        for _ in 0..<40 {
            do throws(RedisError) {
                let reply = try await Self.lock.run(keys: [lockKey], arguments: [token]) { call throws(RedisError) in
                    try await records.redis.run(call)
                }
                if reply != .null { return true }
            } catch {
                throw .records(.records(.redis(error)))
            }
            guard (try? await LoopActor.sleep(for: .milliseconds(250))) != nil else { return false }
        }
        return false
    }

    private static let lock = WithdrawalScript(
        text: "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', '60000')")

    static let unlock = RedisScript(
        text: """
            if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
            return 0
            """)
}

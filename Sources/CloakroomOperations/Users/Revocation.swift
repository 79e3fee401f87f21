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
        case iam(AWSError)
        case policy(RevocationPolicy.PolicyError)
        /// Another revocation has been writing the policy for too long.
        case busy
    }

    /// What AWS allows for a session (AssumeRole, parameter DurationSeconds): settings may have been other once.
    private static let longestSession: Duration = .seconds(43_200)

    private let records: UserRecords
    private let requestDeadline: Duration
    private let hasFailover: Bool
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - requestDeadline: how long a request that was let in before may go on.
    ///   - hasFailover: whether Redis is a Sentinel's or a cluster.
    package init(
        records: UserRecords, requestDeadline: Duration = .zero, hasFailover: Bool = false,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.records = records
        self.requestDeadline = requestDeadline
        self.hasFailover = hasFailover
        self.now = now
    }

    /// From the return on nothing that was issued before is handed out.
    ///
    /// Requests that were let in before may still be waiting for STS then: what they get within the request's deadline
    /// counts as revoked too, and so does every sign-in of that time.
    ///
    /// - Parameter disables: whether nothing new is vended either.
    /// - Returns: the time before which sessions count as revoked, and on how many replicas that is.
    package func stopVending(
        to user: UserID, disables: Bool
    ) async throws(RevocationError) -> (time: Date, replication: RecordReplication?) {
        let time = now().addingTimeInterval(Double(requestDeadline.milliseconds) / 1000)
        var change = UserRecordChange()
        change.revokedBefore(time)
        if disables { change.disabled("revoked") }
        let replication: RecordReplication?
        do throws(RecordChangeError) {
            replication = try await records.applyReplicated(change, to: user, hasFailover: hasFailover)
        } catch {
            throw .records(error)
        }
        do throws(UserRecordError) { _ = try await records.dropCredentials(of: user) } catch {
            throw .records(.records(error))
        }
        return (time, replication)
    }

    /// Has IAM deny requests of the user's sessions from before that time; this takes up to minutes to hold everywhere.
    ///
    /// - Returns: how many users the policy names.
    package func deny(
        _ user: UserID, before time: Date, role: String, iam: IAMClient, deadline: ContinuousClock.Instant
    ) async throws(RevocationError) -> Int {
        let token = randomBytes(16).hexadecimal
        guard try await locked(by: token) else { throw .busy }
        let result = await written(user, time, role, iam, deadline)
        // It ends by itself when this fails.
        _ = try? await records.redis.run(Self.unlock.call(keys: [lockKey], arguments: [token]))
        return try result.get()
    }

    /// IAM replaces the policy as a whole: two who read it at once would each forget the other's user.
    private func written(
        _ user: UserID, _ time: Date, _ role: String, _ iam: IAMClient, _ deadline: ContinuousClock.Instant
    ) async -> Result<Int, RevocationError> {
        do {
            let text = try await iam.policy(RevocationPolicy.name, ofRole: role, deadline: deadline)
            var policy =
                try text.map { text throws(RevocationPolicy.PolicyError) in try RevocationPolicy(parsing: text) }
                ?? RevocationPolicy()
            policy.drop(at: now(), lifetime: Self.longestSession)
            policy.revoke(user, before: time)
            try await iam.put(try policy.text(), as: RevocationPolicy.name, ofRole: role, deadline: deadline)
            return .success(policy.count)
        } catch let fault as AWSError {
            return .failure(.iam(fault))
        } catch let failure as RevocationPolicy.PolicyError {
            return .failure(.policy(failure))
        } catch {
            return .failure(.busy)
        }
    }

    // MARK: One at a time

    private var lockKey: String { "\(records.keyPrefix)lock:revocations" }

    private func locked(by token: String) async throws(RevocationError) -> Bool {
        for _ in 0..<40 {
            do throws(RedisError) {
                let reply = try await records.redis.send(
                    RedisCommand(["SET", lockKey, token, "NX", "PX", "60000"]))
                if reply != .null { return true }
            } catch {
                throw .records(.records(.redis(error)))
            }
            guard (try? await LoopActor.sleep(for: .milliseconds(250))) != nil else { return false }
        }
        return false
    }

    static let unlock = RedisScript(
        text: """
            if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
            return 0
            """)
}

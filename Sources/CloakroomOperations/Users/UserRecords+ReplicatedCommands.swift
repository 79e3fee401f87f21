import CloakroomLoop
import CloakroomRedis
package import CloakroomServer

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What commands alone do, and wait for Redis' replicas with.
extension UserRecords {
    /// A record that is still there, or may be, though something is no longer shared.
    package struct UndeletedRecord: Error {
        package let ended: [Share]
        package let cause: any Error
    }

    /// Deletes a record as ``delete(_:)`` does, and waits as ``applyReplicated(_:to:hasFailover:timeout:)`` does.
    ///
    /// - Returns: whether there was anything to delete, `nil` for a record that is kept until no failover can bring back what the
    ///   user shared; and what is no longer shared.
    /// - Throws: ``UndeletedRecord`` where it fails after that.
    package func deleteReplicated(
        _ user: UserID, hasFailover: Bool, timeout: Duration = changeTimeout
    ) async throws -> (isDeleted: Bool?, ended: [Share], replication: RecordReplication?) {
        guard await isHash(user) else {
            let (isDeleted, ended) = try await delete(user)
            return (isDeleted, ended, nil)
        }
        var ended: [Share] = []
        do {
            var wasStored: Bool?
            for _ in 0..<5 {
                // With the last of what was shared the record itself may go.
                let sharing = try await endSharingReplicated(of: user, hasFailover: hasFailover, timeout: timeout)
                ended += sharing.ended
                if let replication = sharing.replication, replication.mayBeUndone { return (nil, ended, replication) }
                var isDeleted: Bool? = false
                let replication = try await replicated(hasFailover, timeout) { writes throws(UserRecordError) in
                    // The response that says so may be lost, and the repetition finds nothing left.
                    if wasStored == nil { wasStored = try await isStored(user) }
                    let deleted = try await sending(by: writes.send).deleteUnshared(user)
                    isDeleted = deleted.map { $0 || isDeleted == true }
                } isMade: { () throws(UserRecordError) in
                    if isDeleted == nil { return true }
                    return try await record(of: user) == nil
                }
                if let isDeleted {
                    return (
                        isDeleted || wasStored == true || !ended.isEmpty, ended,
                        .leastReplicated(sharing.replication, replication)
                    )
                }
            }
            throw UnendedSharing(users: [user], error: .redis(.interrupted))
        } catch {
            if let unended = error as? UnendedSharing { ended += unended.ended }
            guard !ended.isEmpty else { throw error }
            throw UndeletedRecord(ended: ended, cause: error)
        }
    }

    /// Lets a user read a folder of another's, as ``share(_:with:_:now:)`` does, and waits as
    /// ``applyReplicated(_:to:hasFailover:timeout:)`` does.
    ///
    /// - Returns: the same, and on how many replicas it is.
    package func shareReplicated(
        _ folder: SharedFolder, with recipient: UserID, _ settings: Settings, now: Date
    ) async throws -> (scopes: [String], shortened: SharedFolder?, replication: RecordReplication?) {
        let hasFailover = settings.redis.servers.hasFailover
        var shortened: SharedFolder?
        for _ in 0..<3 {
            let writes = ReplicatedWrites(redis, hasFailover: hasFailover)
            let shared = try await sending(by: writes.send).share(folder, with: recipient, settings, now: now)
            // A repetition may find only what the one before has written.
            shortened = shared.shortened ?? shortened
            if hasFailover { try? await LoopActor.sleep(for: Self.failoverDelay) }
            // A cluster has the two records on two servers, each of which may have been replaced.
            if try await shares(with: recipient).shares.folders.contains(folder),
                try await recipients(of: folder.owner).contains(where: { $0.user == recipient })
            {
                return (shared.scopes, shortened, writes.replication)
            }
        }
        throw RecordChangeError.lost
    }
}

import CloakroomKit
import CloakroomSQLite
import Foundation

/// When another account is signed in than the one whose photos these are: the user decides.
extension TieredPhotoStore {
    /// What ``acceptAccount(_:)`` would do, to be confirmed by the user.
    ///
    /// - Returns: `nil` when the account that is signed in is that of these photos.
    /// - Throws: ``CloakroomError``: what the cold tier throws, and ``CloakroomError/Code/storeFailed``.
    public func accountChange() async throws -> AccountChange? {
        let identity = try await tier.identity
        guard try !isAllowed(identity, for: owner()) else { return nil }
        return try catalog.change(to: identity)
    }

    /// Makes another account the one whose photos these are: the next runs upload those of this device to it, and they may
    /// leave the device then. Those that are in the former account alone stay there, out of reach.
    ///
    /// - Parameter account: the one that is signed in, as ``accountChange()`` has told, and the user has confirmed.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/accountChanged`` when another one is signed in,
    ///   ``CloakroomError/Code/storeInUse``, ``CloakroomError/Code/unwritableFile``, ``CloakroomError/Code/cancelled`` for a
    ///   call that is cancelled while it waits for a run, and what the cold tier throws.
    public func acceptAccount(_ account: TierIdentity) async throws {
        var identity: TierIdentity
        repeat {
            // One that is under way works for the former account.
            while currentRun != nil { try await waitForRun() }
            identity = try await tier.identity
        } while currentRun != nil
        guard identity == account else {
            throw CloakroomError(.accountChanged, "\(identity) is signed in, not \(account)")
        }
        try requireLock()
        try folder.write(.account(account.description))
        try catalog.transaction { database throws(SQLiteError) in
            try database.run("DELETE FROM alarm WHERE kind = ?", [.text(TierAlarm.Kind.accountChanged.rawValue)])
            try database.set(.lastLook, to: nil)
            // Until the next run adopts it: see ``Catalog/adopt(_:)``.
            try database.set(.identity, to: nil)
        }
    }
}

extension Catalog {
    fileprivate func change(to identity: TierIdentity) throws(CloakroomError) -> AccountChange {
        var change = AccountChange(account: identity, photoCount: 0, byteCount: 0, unreachableCount: 0)
        try perform { database throws(SQLiteError) in
            try database.forEach(
                """
                SELECT \(PhotoState.leftSQL), count(*), coalesce(sum(byte_count), 0) FROM photo
                WHERE tier IS NOT ? AND NOT \(PhotoState.sql(.missing)) GROUP BY 1
                """, [.text(identity.description)]
            ) { row in
                let count = Int(row.integer(1))
                if row.integer(0) != 0 {
                    change.unreachableCount = count
                } else {
                    (change.photoCount, change.byteCount) = (count, row.integer(2))
                }
                return true
            }
        }
        return change
    }
}

/// Whose photos these are, and who is signed in.
extension TieredPhotoStore {
    /// Has each run work for one account.
    ///
    /// - Throws: ``CloakroomError/Code/accountChanged`` when another one is signed in, or when it is not known any more
    ///   whose photos these are.
    func checkedIdentity() async throws -> TierIdentity {
        try Self.keepOwner(in: folder, by: catalog)
        let identity = try await tier.identity
        // Nothing happens in between from here on.
        let owner = try owner()
        guard try isAllowed(identity, for: owner) else {
            try catalog.raise(.accountChanged, photoCount: 0, example: "", on: clock())
            throw Self.accountChanged(owner, identity)
        }
        if owner != .account(identity.description) { try folder.write(.account(identity.description)) }
        try catalog.removeAlarm(.accountChanged)
        if try catalog.setting(.identity) == nil { try catalog.adopt(identity) }
        return identity
    }

    /// Whoever is signed in, what is read and written is of the account whose photos these are.
    ///
    /// - Throws: ``CloakroomError/Code/accountChanged``.
    func checkAccount() async throws {
        let identity = try await tier.identity
        let owner = try owner()
        guard try isAllowed(identity, for: owner) else { throw Self.accountChanged(owner, identity) }
    }

    private func isAllowed(_ identity: TierIdentity, for owner: FolderOwner) throws(CloakroomError) -> Bool {
        switch owner {
        case .account(let name): name == identity.description
        case .next: true
        case .unknown: false
        // A catalog was lost, and the file with it.
        case .none: try catalog.setting(.rebuild) == nil
        }
    }

    /// By the catalog and the file. Two that contradict each other say nothing, as after a part of a backup was restored.
    private func owner() throws(CloakroomError) -> FolderOwner {
        guard let recorded = try catalog.setting(.identity) else { return try folder.readOwner() }
        if case .account(let name) = try? folder.readOwner(), name != recorded { return .unknown }
        return .account(recorded)
    }

    /// Writes the file again that is lost or damaged, by what the catalog says; for the one who has the lock.
    static func keepOwner(in folder: StoreFolder, by catalog: Catalog) throws(CloakroomError) {
        let known = try? folder.readOwner()
        if case .account = known { return }
        // The catalog says it as long as there is one: a full disk stops nothing here.
        if let recorded = try catalog.setting(.identity) {
            try? folder.write(.account(recorded))
        } else if known == .some(.none), try catalog.setting(.rebuild) == nil {
            // From now on one that is not there was lost.
            try? folder.write(.next)
        }
    }

    private static func accountChanged(_ owner: FolderOwner, _ identity: TierIdentity) -> CloakroomError {
        guard case .account(let name) = owner else {
            return CloakroomError(.accountChanged, "it is not known whether these photos are those of \(identity)")
        }
        return CloakroomError(.accountChanged, "these photos are those of \(name), not of \(identity)")
    }
}

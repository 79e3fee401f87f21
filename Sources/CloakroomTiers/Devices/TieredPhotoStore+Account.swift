import CloakroomKit
import Foundation

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

import CloakroomRedis
package import CloakroomServer

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Why a folder is not shared.
package enum ShareRefusal: Error, Sendable, Equatable {
    case sameUser
    /// It lies in none of the owner's folders, which are these.
    case place(folders: [String])
    /// It ends too early for a session to be vended for it.
    case tooShort(until: Date)
    case ownerDisabled
    case recipientDisabled
    /// There is no record of the recipient, and the settings refuse who has none.
    case recipientUnknown
    case tooManyRecipients
    /// More owners share with the recipient than there are session tags for.
    case tooManyOwners
    /// As many folders are shared with the recipient as there is room for in a record.
    case tooManyFolders
    /// STS has no room for it in any session of this tier; whether other shares take some of it.
    case tooLarge(tier: String, besidesOthers: Bool)
    /// The recipient's record names a tier that the settings do not have.
    case unknownTier(String)
    /// The recipient's tiers have no scope that reads all of the own folder, so none reads another's.
    case unread(tiers: [String])
    /// Other commands change the record all the time.
    case busy
}

extension UserRecords {
    /// Lets a user read a folder of another's until a time; in place of what was shared under the same prefix.
    ///
    /// - Returns: the scopes with which the recipient reads it; and what this replaces that would have ended later, since
    ///   credentials that are out may read until then.
    /// - Throws: ``ShareRefusal``, or a ``UserRecordError``.
    package func share(
        _ folder: SharedFolder, with recipient: UserID, _ settings: Settings, now: Date
    ) async throws -> (scopes: [String], shortened: SharedFolder?) {
        let rules = SharingRules(settings)
        guard folder.owner != recipient else { throw ShareRefusal.sameUser }
        guard folder.folder(among: rules.places) != nil else {
            throw ShareRefusal.place(folders: rules.places.map { "\($0)\(folder.owner.text)/" })
        }
        let earliest = rules.earliestEnd(at: now)
        guard folder.end > earliest else { throw ShareRefusal.tooShort(until: earliest) }
        for _ in 0..<5 {
            let (step, scopes, shortened) = try await attempt(folder, with: recipient, rules, settings, now)
            switch step {
            case .done: return (scopes, shortened)
            case .changed: continue
            case .disabled: throw ShareRefusal.recipientDisabled
            case .full:
                guard try await forgetFormerRecipients(of: folder.owner, at: now) > 0 else {
                    throw ShareRefusal.tooManyRecipients
                }
            }
        }
        throw ShareRefusal.busy
    }

    private func attempt(
        _ folder: SharedFolder, with recipient: UserID, _ rules: SharingRules, _ settings: Settings, _ now: Date
    ) async throws -> (step: SharingStep, scopes: [String], shortened: SharedFolder?) {
        // Before the owner's record is looked at: whatever is ended from there changes the revision.
        let (shares, revision) = try await shares(with: recipient)
        let record = try await record(of: recipient)
        guard record != nil || settings.entitlements.withoutRecord == .default else {
            throw ShareRefusal.recipientUnknown
        }
        let former = shares.folders
        var folders = former.filter { $0.end > now }
        var shortened: SharedFolder?
        if let index = folders.firstIndex(where: { $0.owner == folder.owner && $0.prefix == folder.prefix }) {
            if folders[index].end > folder.end { shortened = folders[index] }
            folders[index] = folder
        } else {
            folders.append(folder)
        }
        guard folders.count <= SharingRules.maximumFolders else { throw ShareRefusal.tooManyFolders }
        let scopes = try Self.scopes(
            opening: folder, among: folders, besides: former, of: recipient, tier: record?.tier, rules, settings, now)
        if try await self.record(of: folder.owner)?.isDisabled == true { throw ShareRefusal.ownerDisabled }
        guard !revision.isEmpty else {
            try await beginShares(with: recipient)
            return (.changed, [], nil)
        }
        switch try await announceShare(of: folder.owner, with: recipient) {
        case .disabled: throw ShareRefusal.ownerDisabled
        case .full: return (.full, [], nil)
        case .changed: return (.changed, [], nil)
        case .done:
            let step = try await setShares(UserRecord.Shares(folders), with: recipient, revision: revision)
            return (step, scopes, shortened)
        }
    }

    /// Those scopes with which a session of the recipient's opens a folder, in each tier that the recipient may have, and all
    /// that it opened before.
    ///
    /// - Parameter tier: the record's; without one it is left to the token.
    private nonisolated static func scopes(
        opening folder: SharedFolder, among shares: [SharedFolder], besides former: [SharedFolder],
        of recipient: UserID, tier: String?, _ rules: SharingRules, _ settings: Settings, _ now: Date
    ) throws(ShareRefusal) -> [String] {
        let known = settings.tiers.isEmpty ? [settings.vending.defaultTier] : settings.tiers.keys.sorted()
        let (tiers, all) = (Tiers(settings), settings.vending.scopes)
        var opening: Set<String>?
        for name in tier.map({ [$0] }) ?? known {
            guard let terms = tiers[name] else { throw .unknownTier(name) }
            var opens: Set<String> = []
            var why: SharingRules.Omission?
            for scope in all.names.compactMap({ all[$0] }) where all.covers(terms.scope, scope) {
                let grant = Grant(scope: scope, lifetime: terms.lifetime, tier: name)
                let (shared, omitted) = rules.sessionShares(shares, of: recipient, grant, at: now)
                let opened = Set(shared.folders.map(\.prefix))
                let before = rules.sessionShares(former, of: recipient, grant, at: now).shared.folders
                guard before.allSatisfy({ opened.contains($0.prefix) }) else {
                    throw .tooLarge(tier: name, besidesOthers: true)
                }
                if shared.folders.contains(folder) { opens.insert(scope.name) }
                let omission = omitted.first { $0.folder == folder }?.why
                // A smaller scope would not help against the number of owners.
                if why != .owners { why = omission ?? why }
            }
            guard opens.isEmpty else {
                opening = opening?.intersection(opens) ?? opens
                continue
            }
            switch why {
            case .owners: throw .tooManyOwners
            case .size: throw .tooLarge(tier: name, besidesOthers: shares.count > 1)
            // Where one of several tiers reads no folders at all, that is no reason against the others.
            case .place, .unreadable, .refused, nil: continue
            }
        }
        guard let opening, !opening.isEmpty else { throw .unread(tiers: tier.map { [$0] } ?? known) }
        return opening.sorted()
    }
}

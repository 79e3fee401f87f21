import CloakroomRedis
package import CloakroomServer

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Why a folder is not shared.
package enum ShareRefusal: Error, Sendable, Equatable {
    case records(UserRecordError)
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
    /// STS has no room for one more in a session of this tier.
    case tooLarge(tier: String)
    /// The recipient's tiers have no scope that reads all of the own folder, so none reads another's.
    case unread(tiers: [String])
    /// Other commands change the record all the time.
    case busy
}

extension UserRecords {
    /// Lets a user read a folder of another's until a time; in place of what was shared under the same prefix.
    package func share(
        _ folder: SharedFolder, with recipient: UserID, _ settings: Settings, now: Date
    ) async throws(ShareRefusal) {
        let rules = SharingRules(settings)
        guard folder.owner != recipient else { throw .sameUser }
        guard folder.folder(among: rules.places) != nil else {
            throw .place(folders: rules.places.map { "\($0)\(folder.owner.text)/" })
        }
        let earliest = rules.earliestEnd(at: now)
        guard folder.end > earliest else { throw .tooShort(until: earliest) }
        for _ in 0..<5 {
            do {
                switch try await attempt(folder, with: recipient, rules, settings, now) {
                case .done: return
                case .changed: continue
                case .disabled: throw ShareRefusal.recipientDisabled
                case .full: throw ShareRefusal.tooManyRecipients
                }
            } catch let refusal as ShareRefusal {
                throw refusal
            } catch let error as UserRecordError {
                throw .records(error)
            } catch {
                throw .busy
            }
        }
        throw .busy
    }

    private func attempt(
        _ folder: SharedFolder, with recipient: UserID, _ rules: SharingRules, _ settings: Settings, _ now: Date
    ) async throws -> SharingStep {
        // Before the owner's record is looked at: whatever is ended from there changes the revision.
        let (shares, revision) = try await shares(with: recipient)
        let record = try await record(of: recipient)
        guard record != nil || settings.entitlements.withoutRecord == .default else {
            throw ShareRefusal.recipientUnknown
        }
        var changed = UserRecord.Shares()
        changed.folders =
            shares.folders.filter { $0.end > now && ($0.owner, $0.prefix) != (folder.owner, folder.prefix) } + [folder]
        try Self.check(changed, with: recipient, tier: record?.tier, rules, settings, now)
        switch try await announceShare(of: folder.owner, with: recipient) {
        case .done: return try await setShares(changed, with: recipient, revision: revision)
        case .disabled: throw ShareRefusal.ownerDisabled
        case .full, .changed: return .full
        }
    }

    /// Whether a session of every tier that the recipient may have has room for all of it.
    ///
    /// - Parameter tier: the record's; without one it is left to the token.
    private nonisolated static func check(
        _ shares: UserRecord.Shares, with recipient: UserID, tier: String?, _ rules: SharingRules, _ settings: Settings,
        _ now: Date
    ) throws(ShareRefusal) {
        let known = settings.tiers.isEmpty ? [settings.vending.defaultTier] : settings.tiers.keys.sorted()
        let tiers = Tiers(settings)
        let names = tier.map { [$0] } ?? known
        var opens = false
        for name in names {
            guard let terms = tiers[name] else { continue }
            let grant = Grant(scope: terms.scope, lifetime: terms.lifetime, tier: name)
            let (shared, omitted) = rules.sessionShares(shares.folders, of: recipient, grant, at: now)
            if let (_, why) = omitted.first {
                throw why == .owners ? .tooManyOwners : .tooLarge(tier: name)
            }
            if !shared.isEmpty { opens = true }
        }
        guard opens else { throw .unread(tiers: names) }
    }
}

package import CloakroomAWS
package import CloakroomServer

/// What a deployment expects of its bucket's lifecycle.
package struct LifecycleTerms: Sendable, Equatable {
    /// Which objects expire, by the beginnings of their keys; an empty one is for all. None begins with another.
    package var prefixes: [String]
    /// Prefixes of Cloakroom's own objects that none of `prefixes` is for: they expire as well.
    package var own: [String]
    /// Keys of what renewals are tested with that none of `prefixes` is for: they expire where versions are kept.
    package var renewalTests: [String]
    /// Where assets lie that `prefixes` are for: what other rules do elsewhere breaks no promise.
    package var assets: [String]
    /// Where assets lie that no rule is for, right behind these prefixes and in no deeper folder.
    package var names: [String]
    package var users: UserFolders
    /// Of these, the folders of tiered photo storage; empty where users lack one of them.
    package var tiered: [String]
    /// Whether users' folders are to expire.
    package var expiresUserFolders: Bool
    /// What workers promise as `expiresAt`; `nil`: nothing but images of chats expires.
    package var retentionDays: Int?
    package var noncurrentDays: Int
    package var abortMultipartDays: Int
    /// `nil` where there are no images of chats.
    package var chat: ChatTerms?

    /// - Parameter assets: `nil` for wherever the prefixes are.
    package init(
        prefixes: [String] = [""], own: [String] = [], renewalTests: [String] = [], assets: [String]? = nil,
        names: [String] = [], users: UserFolders = UserFolders([]), tiered: [String] = [],
        expiresUserFolders: Bool = false, retentionDays: Int?, noncurrentDays: Int = 7, abortMultipartDays: Int = 7,
        chat: ChatTerms? = nil
    ) {
        self.prefixes = prefixes
        self.own = own
        self.renewalTests = renewalTests
        self.assets = assets ?? prefixes
        self.names = names
        self.users = users
        self.tiered = tiered
        self.expiresUserFolders = expiresUserFolders
        self.retentionDays = retentionDays
        self.noncurrentDays = noncurrentDays
        self.abortMultipartDays = abortMultipartDays
        self.chat = chat
    }

    package init(_ settings: Settings) {
        let prefixes = settings.lifecycle.prefixes
        let places = settings.assetPrefixes.map(\.prefix)
        let covered = places.filter { LifecycleCoverage(prefixes).covers($0) }
        self.init(
            prefixes: prefixes, own: settings.ownObjects.ruleless,
            renewalTests: settings.ownObjects.rulelessRenewalTests, assets: covered,
            names: places.filter { !covered.contains($0) }, users: settings.userFolders,
            tiered: settings.tieredFolders.parents,
            expiresUserFolders: settings.lifecycle.expiresUserFolders,
            retentionDays: settings.renewal.retentionDays,
            noncurrentDays: settings.lifecycle.noncurrentDays,
            abortMultipartDays: settings.lifecycle.abortMultipartDays,
            chat: settings.uploads.chat.map { ChatTerms($0) })
    }

    /// The folders that no rule may match: of all users, or of tiered photos alone where users' folders are to expire.
    var kept: UserFolders { expiresUserFolders ? UserFolders(tiered) : users }

    /// All that rules are for: what is there expires, or only its older versions do.
    var expiring: [String] { prefixes + own }

    /// Whether one of the rules lets all objects behind a prefix expire.
    package func expires(_ prefix: String) -> Bool {
        retentionDays != nil && expiring.contains(where: prefix.hasPrefix)
    }

    /// Those that a rule is for, all of their objects.
    func covered(by filter: LifecycleRule.Filter) -> [String] {
        filter.isOfPrefixAlone ? expiring.filter { $0.hasPrefix(filter.prefix) } : []
    }

    /// Whether a rule may be for some of the assets.
    func touches(_ filter: LifecycleRule.Filter) -> Bool {
        (assets + own).contains { filter.prefix.hasPrefix($0) || $0.hasPrefix(filter.prefix) }
            || names.contains { place in
                place.hasPrefix(filter.prefix)
                    || filter.prefix.hasPrefix(place) && !filter.prefix.dropFirst(place.count).contains("/")
            }
    }

    /// What becomes of an asset, in the words of a sentence.
    package var promise: String {
        retentionDays.map { "what is not renewed expires after \($0) days" }
            ?? "nothing expires, renewed or not (renewal.retentionDays is null)"
    }

    /// In the words of a sentence: `every object`.
    var objects: String { Self.objects(prefixes) }

    static func objects(_ prefixes: [String]) -> String {
        prefixes == [""] ? "every object" : "every object under \(LifecycleCoverage.list(prefixes))"
    }
}

// MARK: The rules

extension LifecycleTerms {
    /// The rules as they should be: one for each prefix, and one that tidies up the whole bucket: it deletes neither
    /// objects nor their versions; one for images of chats, and one for those of them that have the tag of a release. Where
    /// nothing expires, the prefixes have rules for older versions alone.
    package func rules(_ versioning: BucketVersioning) -> [LifecycleRule] {
        let tests = versioning == .never ? [] : renewalTests
        let chats = [chat.flatMap { deletion($0.prefix, versioning, days: $0.retentionDays) }].compactMap(\.self)
        let prefixes = (expiring + tests).compactMap { deletion($0, versioning, days: retentionDays) }
        return (prefixes + [cleanUp(versioning)] + chats)
            .map { LifecycleRule(xml: XMLNode("Rule", $0)) } + [chat?.tagRule].compactMap(\.self)
    }

    /// Earlier prefixes of images of chats, by the rules for the tag that each had: what is behind them still has to end.
    ///
    /// - Returns: none that is another place now.
    package func formerChats(in configuration: LifecycleConfiguration) -> [String] {
        // Names in the bucket itself have no slash, so that a folder is beside them.
        let places =
            expiring + renewalTests + (assets + names).filter { !$0.isEmpty } + [chat?.prefix].compactMap(\.self)
        return configuration.rules.filter { $0.isEnabled && Self.isOurs($0.id) && $0.filter.isOfReleased }
            .map(\.filter.prefix)
            .filter { prefix in
                prefix.hasSuffix("/") && users.met(by: prefix).isEmpty
                    && !places.contains { $0.hasPrefix(prefix) || prefix.hasPrefix($0) }
            }
    }

    /// - Parameter days: until an object expires; `nil`: it does not, and only its older versions go.
    /// - Returns: `nil` where there is nothing to delete.
    private func deletion(_ prefix: String, _ versioning: BucketVersioning, days: Int?) -> [XMLNode]? {
        guard days != nil || versioning != .never else { return nil }
        let name = days.map { "expire-after-\($0)-days" } ?? "remove-old-versions"
        var rule = [
            XMLNode("ID", name + (prefix.isEmpty ? "" : "-\(prefix)")),
            XMLNode("Filter", prefix.isEmpty ? [] : [XMLNode("Prefix", prefix)]), XMLNode("Status", "Enabled"),
        ]
        if let days { rule.append(XMLNode("Expiration", [XMLNode("Days", String(days))])) }
        if versioning != .never {
            rule.append(
                XMLNode("NoncurrentVersionExpiration", [XMLNode("NoncurrentDays", String(noncurrentDays))]))
        }
        return rule
    }

    private func cleanUp(_ versioning: BucketVersioning) -> [XMLNode] {
        // S3 takes the markers beside no number of days, hence a rule without.
        let markers = XMLNode("Expiration", [XMLNode("ExpiredObjectDeleteMarker", "true")])
        return [XMLNode("ID", "clean-up"), XMLNode("Filter", []), XMLNode("Status", "Enabled")]
            + (versioning == .never ? [] : [markers]) + [
                XMLNode("AbortIncompleteMultipartUpload", [XMLNode("DaysAfterInitiation", String(abortMultipartDays))])
            ]
    }

    /// Whether a rule bears a name that this or an earlier version gave, here or in deploy/: `expire-after-30-days`.
    static func isOurs(_ id: String) -> Bool {
        if id == "clean-up" || id == "remove-expired-delete-markers" { return true }
        return id.prefixMatch(of: /(?:expire-after-[0-9]+-days|remove-old-versions)(?:-|$)/) != nil
    }
}

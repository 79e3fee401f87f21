package import CloakroomAWS
package import CloakroomHTTP
package import CloakroomLoop

/// All that identifies the caller: the issuers of the settings, ourselves if people sign in here, and everyone's keys.
@LoopActor
package struct Identity {
    package let authenticator: Authenticator
    /// `nil` when sign-in is off.
    package let sessions: SessionTokens?
    private let issuers: [IdentityProvider]

    /// How long one exchange with an issuer may take.
    private static let longestTimeout: Duration = .seconds(3)

    /// - Parameters:
    ///   - transport: for fetching keys; one that follows no redirect.
    ///   - runtime: its wall clock tells when tokens end.
    package init(
        settings: Settings, transport: any Transport, runtime: RuntimeDependencies, metrics: Metrics, log: Log
    ) {
        let timeout = min(Self.longestTimeout, settings.server.requestDeadline)
        let fetcher = KeyFetcher(transport: transport, timeout: timeout)
        var issuers = settings.tokens.issuers.map { issuer in
            let url: String?
            switch issuer.keys {
            case .fixed(let keys): return IdentityProvider(issuer, keys: IssuerKeys(fixed: keys))
            case .address(let address): url = address
            case .discovery: url = nil
            }
            let remote = IssuerKeys.Remote(
                issuer: issuer.name, url: url, fetcher: fetcher, runtime: runtime,
                onFetch: { failure in
                    metrics.fetchedKeys(of: issuer.name, failure)
                    guard let failure else { return }
                    log.warning(
                        "keys could not be fetched",
                        ["issuer": .text(issuer.name), "reason": .text(failure.rawValue)])
                })
            return IdentityProvider(issuer, keys: IssuerKeys(remote: remote))
        }
        sessions = settings.session.map { SessionTokens($0, now: runtime.wallClock) }
        if let own = sessions?.issuer, case .fixed(let keys) = own.keys {
            issuers.append(IdentityProvider(own, keys: IssuerKeys(fixed: keys), isOurselves: true))
        }
        self.issuers = issuers
        authenticator = Authenticator(
            header: settings.tokens.header, leeway: settings.tokens.leeway, issuers: issuers,
            reserved: settings.reservedUserIDs,
            now: runtime.wallClock)
    }

    /// Whether any keys have to be fetched.
    package var needsKeys: Bool { issuers.contains { !$0.keys.isFixed } }

    /// Whose tokens cannot be trusted yet; `nil` when there is no such issuer.
    package var fault: String? {
        let missing = issuers.filter { $0.keys.keys == nil }.map(\.issuer.name)
        return missing.isEmpty ? nil : "no keys of " + missing.joined(separator: ", ")
    }

    /// Fetches everyone's keys, each in a task of its own, until that is cancelled.
    package func startRefreshingKeys() -> [Task<Void, Never>] {
        issuers.filter { !$0.keys.isFixed }.map { issuer in LoopActor.spawn { await issuer.keys.refreshContinuously() }
        }
    }
}

/// User ids that no user has, because the user's folder would hold what belongs to others.
package struct ReservedUserIDs: Sendable, Equatable {
    /// What Cloakroom's own objects and invented users begin with: canaries, the doctor's objects, validations.
    static let ownPrefix = "cloakroom-"

    /// With users' folders in the bucket itself: the first path component of other prefixes, and the setting of each.
    package let components: [Component]

    package struct Component: Sendable, Equatable {
        package let id: String
        package let setting: String
    }

    init(components: [Component] = []) { self.components = components }

    func contains(_ user: UserID) -> Bool {
        user.text.hasPrefix(Self.ownPrefix) || components.contains { $0.id == user.text }
    }
}

extension Settings {
    package var reservedUserIDs: ReservedUserIDs { ReservedUserIDs(PrefixOverlaps(self).overlaps) }
}

extension ReservedUserIDs {
    /// - Parameter overlaps: those below the bucket itself reserve an id; all others are faults of the settings.
    init(_ overlaps: [PrefixOverlaps.Overlap]) {
        var components: [Component] = []
        for overlap in overlaps where overlap.folder.prefix.isEmpty {
            guard !components.contains(where: { $0.id == overlap.id.text }) else { continue }
            components.append(Component(id: overlap.id.text, setting: overlap.other.setting))
        }
        self.init(components: components)
    }
}

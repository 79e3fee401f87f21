package import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Checks valid settings for what they allow.
package struct SettingsFindings {
    private let settings: Settings
    private let check = CheckName.settings

    package init(_ settings: Settings) { self.settings = settings }

    /// For a file with faults.
    package static func faults(_ faults: SettingsErrors) -> [Finding] {
        faults.faults.map { fault in
            CheckName.settings.error(
                (fault.path.isEmpty ? "" : "\(fault.path) ") + fault.cause,
                why: "serve refuses to start with these settings",
                advice: fault.remedy, command: "cloakroom check FILE")
        }
    }

    package var all: [Finding] {
        let weak =
            [keys, lifetime, nonce, redis, open, minimumAge, debug, activeTypes, lifecycle].compactMap(\.self) + scopes
        return weak.isEmpty ? [check.ok("nothing in the settings is weaker than it has to be")] : weak
    }

    /// What is good, but stands in the way of what apps may want.
    package var notes: [Finding] {
        settings.tieredFolders.note.map {
            [
                check.skipped(
                    "tiered photo storage: \($0)",
                    advice: "nothing, if no app tiers photos; else add catalogs to vending.prefixes, and to the session"
                        + " role: deploy/iam/session-role-policy.json")
            ]
        } ?? []
    }

    private var keys: Finding? {
        guard let keys = settings.aws.keys, keys.sessionToken == nil else { return nil }
        return check.warning(
            "aws.accessKeyID is a long-lived key", why: "a copy of it works until the key is deactivated",
            advice: "run the worker under a role (instance, container or web identity) and take the keys out")
    }

    private var lifetime: Finding? {
        let longest = settings.longestLifetime
        guard longest > .seconds(4 * 3600) else { return nil }
        return check.warning(
            "credentials live up to \(longest.components.seconds / 3600) hours",
            why: "they cannot be taken back: who loses a phone loses that long",
            advice: "lower vending.lifetimeSeconds; the kit renews by itself")
    }

    private var nonce: Finding? {
        guard
            let issuer = settings.tokens.issuers.first(where: { $0.notifies && $0.use == .session && !$0.requiresNonce }
            )
        else { return nil }
        return check.warning(
            "requireNonce is false for \(issuer.name)",
            why: "an identity token that another copied can be exchanged for a session, as long as it lives",
            advice: "have the app send a nonce with each sign-in, and take requireNonce out")
    }

    private var redis: Finding? {
        let hosts = settings.redis.servers.addresses.compactMap { address -> String? in
            guard case .internet(let host, _) = address, !WebOrigin.isLoopback(host) else { return nil }
            return host
        }
        guard let host = hosts.first else { return nil }
        guard settings.redis.usesTLS else {
            return check.warning(
                "Redis at \(host) is reached in plain text",
                why: "an attacker on the path reads its password, and can enable disabled users",
                advice: "set redis.tls: true")
        }
        guard settings.redis.password != nil else {
            return check.warning(
                "Redis at \(host) is used without a password", why: "anyone who can connect can enable disabled users",
                advice: "set redis.password, and the same in Redis")
        }
        return nil
    }

    private var open: Finding? {
        guard settings.limits.vend.whenRedisIsAway == .open else { return nil }
        return check.warning(
            "limits.vend.whenRedisIsAway is open",
            why: "while Redis is unreachable, credentials are vended without a limit and without the user's record",
            advice: "set it to closed")
    }

    private var minimumAge: Finding? {
        guard settings.renewal.minimumAge < .seconds(3600) else { return nil }
        return check.warning(
            "renewal.minimumAgeSeconds is \(settings.renewal.minimumAge.components.seconds)",
            why: "the same object can be copied over and over, each time at the price of a PUT",
            advice: "set it to a day, 86400")
    }

    private var debug: Finding? {
        guard settings.log.level == .debug else { return nil }
        return check.warning(
            "log.level is debug", why: "each probe and each refusal is a line: the disk fills", advice: "set it to info"
        )
    }

    /// Types whose scripts browsers run (HTML Standard, "Loading documents"; SVG 2, "Scripting").
    private static let activeTypes: Set<String> = [
        "text/html", "application/xhtml+xml", "image/svg+xml", "text/xml", "application/xml",
    ]

    private var activeTypes: Finding? {
        let types = settings.uploads.contentTypes.filter(Self.activeTypes.contains)
        guard !types.isEmpty else { return nil }
        return check.warning(
            "uploads.contentTypes has \(types.joined(separator: ", "))",
            why:
                "a browser that opens such an asset runs its scripts, as a page of the origin that assets are read from",
            advice: "take them out, or read assets (uploads.assetBaseURL) from an origin without pages and API of yours"
        )
    }

    private var lifecycle: Finding? {
        LifecycleConflict(LifecycleTerms(settings)).map { conflict in
            check.error(conflict.text, why: "photos that users keep here would be deleted", advice: conflict.advice)
        }
    }

    /// What each scope says of own and others' objects, as IAM would read it.
    private var scopes: [Finding] {
        settings.vending.scopes.names.compactMap { name in
            guard let scope = settings.vending.scopes[name] else { return nil }
            let grant = Grant(
                scope: scope, lifetime: settings.vending.lifetime, tier: settings.vending.defaultTier)
            let simulation = PolicySimulation(
                grant, user: .doctor, bucket: settings.bucket, partition: settings.vending.partition, at: Date())
            guard let wrong = simulation.rows.first(where: { !$0.isAsExpected }) else { return nil }
            return check.error(
                "the scope \(name) \(wrong.isAllowed ? "allows" : "denies") \(wrong.action) on \(wrong.target)",
                why: wrong.remark, advice: "see what it says of each action",
                command: "cloakroom policy test --scope \(name) FILE")
        }
    }
}

extension Settings {
    /// Of credentials, whatever the tier.
    package var longestLifetime: Duration { tiers.values.map(\.lifetime).reduce(vending.lifetime, max) }
}

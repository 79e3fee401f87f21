import CloakroomWire

/// The keys that say how much users may do, in tiers and by limits.
extension SettingsTable {
    /// One of `tiers`.
    struct Tier: SettingsGroup {
        let lifetimeSeconds = SettingsKey(
            optional: "lifetimeSeconds", .integer(900...43_200),
            "How long credentials live; null: `vending.lifetimeSeconds`.")
        let scope = SettingsKey(
            optional: "scope", .text(.scope), "What credentials open: a scope's name; null: `vending.scope`.")
        let limits = TierLimits()
        let userLimits = TierUserLimits()
        let storageLimitBytes = SettingsKey(
            optional: "storageLimitBytes", .integer(0...1_000_000_000_000_000),
            "From how much on nothing can be stored; null: no limit. A record can have its own.")
        let requiresSubscription = SettingsKey(
            "requiresSubscription", .flag, default: false,
            "Whether nothing is vended or uploaded without a subscription end in the record that lies ahead.")
    }

    struct TierLimits: SettingsGroup {
        let renew = requests("renew")
        let vend = requests("vend")
        let upload = requests("upload")
        let renewKeys = SettingsKey(
            optional: "limits.renewKeys", .integer(renewedKeys),
            "How many keys a device renews in a window; null: `limits.renewKeys.keys`.")
        let uploadBytes = SettingsKey(
            optional: "limits.uploadBytes", .integer(uploadedBytes),
            "How many bytes a device announces in a window; null: `limits.uploadBytes.bytes`.")

        private static func requests(_ name: String) -> SettingsKey<Int?> {
            SettingsKey(
                optional: "limits.\(name)", .integer(1...1_000_000),
                "How many requests a device has in a window; null: `limits.\(name).requests`.")
        }
    }

    struct TierUserLimits: SettingsGroup {
        let renew = requests("renew")
        let vend = requests("vend")
        let upload = requests("upload")
        let renewKeys = SettingsKey(
            optional: "userLimits.renewKeys", .integer(renewedKeys),
            "How many keys all devices of a user renew in a window; null: four times the tier's `limits.renewKeys`,"
                + " without that `limits.renewKeys.userKeys`.")
        let uploadBytes = SettingsKey(
            optional: "userLimits.uploadBytes", .integer(uploadedBytes),
            "How many bytes all devices of a user announce in a window; null: four times the tier's"
                + " `limits.uploadBytes`, without that `limits.uploadBytes.userBytes`.")

        private static func requests(_ name: String) -> SettingsKey<Int?> {
            SettingsKey(
                optional: "userLimits.\(name)", .integer(1...4_000_000),
                "How many requests all devices of a user have in a window; null: four times the tier's `limits.\(name)`,"
                    + " without that `limits.\(name).userRequests`.")
        }
    }
}

extension SettingsTable {
    struct Limits: SettingsGroup {
        let renew = RequestLimit("renew", 10, whenRedisIsAway: .open)
        let vend = RequestLimit("vend", 60, whenRedisIsAway: .closed)
        let upload = RequestLimit("upload", 120, whenRedisIsAway: .open)
        let session = RequestLimit("session", 60, whenRedisIsAway: .closed)
        let notification = RequestLimit("notification", 60, whenRedisIsAway: .closed)
        let renewKeys = KeyLimit()
        let uploadBytes = ByteLimit()
    }

    struct RequestLimit: SettingsGroup {
        let requests: SettingsKey<Int>
        let userRequests: SettingsKey<Int?>
        let windowSeconds: SettingsKey<Int>
        let whenRedisIsAway: SettingsKey<Settings.Limit.WithoutRedis>

        init(_ name: String, _ standard: Int, whenRedisIsAway away: Settings.Limit.WithoutRedis) {
            requests = SettingsKey(
                "limits.\(name).requests", .integer(1...1_000_000), default: standard,
                "How many requests a device has in a window.")
            userRequests = SettingsKey(
                optional: "limits.\(name).userRequests", .integer(1...4_000_000),
                "How many requests all devices of a user have in a window; null: four times `requests`.")
            windowSeconds = SettingsKey(
                "limits.\(name).windowSeconds", .integer(1...86_400), default: 3600,
                "The window, from the first request on.")
            whenRedisIsAway = SettingsKey(
                "limits.\(name).whenRedisIsAway", .choice(of: Settings.Limit.WithoutRedis.self), default: away,
                "`open`: serve under a limit of the worker's own; `closed`: return 503.")
        }
    }

    struct KeyLimit: SettingsGroup {
        let keys = SettingsKey(
            "limits.renewKeys.keys", .integer(renewedKeys), default: 1000,
            "How many keys a device renews in a window, in all its requests.")
        let userKeys = SettingsKey(
            optional: "limits.renewKeys.userKeys", .integer(renewedKeys),
            "How many keys all devices of a user renew in a window; null: four times `keys`.")
        let windowSeconds = SettingsKey(
            "limits.renewKeys.windowSeconds", .integer(1...86_400), default: 3600,
            "The window, from the first request on.")
    }

    struct ByteLimit: SettingsGroup {
        let bytes = SettingsKey(
            "limits.uploadBytes.bytes", .integer(uploadedBytes), default: 10_737_418_240,
            "How many bytes a device announces in a window, in all its uploads; what is larger is never let in.")
        let userBytes = SettingsKey(
            optional: "limits.uploadBytes.userBytes", .integer(uploadedBytes),
            "How many bytes all devices of a user announce in a window; null: four times `bytes`.")
        let windowSeconds = SettingsKey(
            "limits.uploadBytes.windowSeconds", .integer(1...86_400), default: 3600,
            "The window, from the first request on.")
    }

    /// A full batch must pass, or those clients that know no other would never renew again.
    private static let renewedKeys = WireLimits.maximumKeysPerRequest...100_000_000
    /// Header fields hold integers of 15 digits (RFC 9651 §3.3.1).
    private static let uploadedBytes = 1...999_999_999_999_999
}

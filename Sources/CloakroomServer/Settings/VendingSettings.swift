package import CloakroomAWS
package import CloakroomCrypto

extension Settings {
    package struct Vending: Sendable {
        /// The prefix of a folder that ``prefixes`` names: empty for the bucket itself.
        package static func folder(_ name: String) -> String { name.isEmpty ? "" : name + "/" }

        package var roles: SessionRoles
        package var store: ObjectStore
        package var lifetime: Duration
        package var scopes: Scopes
        /// What a tier has that names none.
        package var scope: Scope
        /// Where each user has a folder; an empty one is the bucket itself.
        package var prefixes: [String]
        /// The tier of a token that names none.
        package var defaultTier: String
        package var credentialCache: CredentialCache
        /// Whether users can be let read folders of others.
        package var sharing: Bool
    }

    package struct CredentialCache: Sendable {
        package var enabled: Bool
        package var maximumEntries: Int
        /// What seals the entries in Redis, the first first; empty: nothing is shared.
        package var sharedKeys: [SealingKey]
    }

    /// What users of one tier may do.
    package struct Tier: Sendable {
        package var lifetime: Duration
        package var scope: Scope
        /// In a window; `nil` means as many as everybody.
        package var renewals: Int?
        package var vends: Int?
        package var uploads: Int?
        package var renewedKeys: Int?
        package var uploadedBytes: Int?
        /// The same for all devices of a user; `nil` means four times the tier's own number, else as many as everybody.
        package var userRenewals: Int?
        package var userVends: Int?
        package var userUploads: Int?
        package var userRenewedKeys: Int?
        package var userUploadedBytes: Int?
        /// In bytes; `nil` means no limit.
        package var storageLimit: Int?
        package var requiresSubscription = false
    }

    package struct Entitlements: Sendable {
        package enum WithoutRecord: String, Sendable, CaseIterable { case `default`, refuse }

        /// Whether users' records are read at all.
        package var enabled: Bool
        package var withoutRecord: WithoutRecord
    }
}

extension SettingsTable {
    struct Vending: SettingsGroup {
        let roleARN = SettingsKey(required: "vending.roleARN", .text(.roleARN), "The role that users' sessions assume.")
        let store = SettingsKey(
            "vending.store", .choice(of: ObjectStore.self), default: .aws,
            "The kind of store; the built-in scopes name only actions that it has. `cloakroom doctor` finds out which it is."
        )
        let lifetimeSeconds = SettingsKey(
            "vending.lifetimeSeconds", .integer(900...43_200), default: 3600, "How long credentials live.")
        let externalID = SettingsKey(
            optional: "vending.externalID", .text(.externalID), "The external ID that the role's trust policy requires."
        )
        let roles = SettingsKey(
            optional: "vending.roles", .objects(Role()),
            "Roles besides that of `vending.roleARN`: users are spread over all of them, each staying with one. See"
                + " Capacity.")
        let prefixes = SettingsKey(
            "vending.prefixes", .texts(.folder), default: ["photos", "thumbnails", "metadata"],
            "Where the built-in scopes give each user a folder; empty: in the bucket itself. Tiered photo storage needs `catalogs`"
                + " besides `photos` and `thumbnails`.")
        let kmsKeyARNs = SettingsKey(
            optional: "vending.kmsKeyARNs", .texts(.kmsKeyARN),
            "The keys of a bucket under SSE-KMS: the scopes let S3 use them for a user's objects, as the session role"
                + " must, too.")
        let scopes = SettingsKey(
            optional: "vending.scopes", .named(.scope, Scope()),
            "Scopes besides the built-in `full`, `read` and `upload`, or in their place.")
        let scope = SettingsKey(
            "vending.scope", .text(.scope), default: "full",
            "What credentials open in tiers that name no scope; a request may name less, never more.")
        let defaultTier = SettingsKey(
            "vending.defaultTier", .text(.tier), default: "free", "The tier of a token that names none.")
        let sharing = SettingsKey(
            "vending.sharing", .flag, default: false,
            "Whether users read the folders that `cloakroom user share` shares with them; the role needs more then, see"
                + " Sharing.")
        let credentialCache = CredentialCache()
    }

    /// One of `vending.scopes`.
    struct Scope: SettingsGroup {
        let template = SettingsKey(
            required: "template", .file, "An IAM policy with `${user}`, `${bucket}`, `${partition}` left open.")
    }

    struct CredentialCache: SettingsGroup {
        let enabled = SettingsKey(
            "vending.credentialCache.enabled", .flag, default: true,
            "Whether a worker hands out credentials again while about half of their life or more is left.")
        let maximumEntries = SettingsKey(
            "vending.credentialCache.maximumEntries", .integer(1...1_000_000), default: 10_000,
            "How many users' credentials a worker keeps.")
        let shared = SharedCredentialCache()
    }

    struct SharedCredentialCache: SettingsGroup {
        let enabled = SettingsKey(
            "vending.credentialCache.shared.enabled", .flag, default: false,
            "Whether all workers share what they vended, sealed, in Redis.")
        let keys = SettingsKey(
            optional: "vending.credentialCache.shared.keys", .sealingKeys(purpose: "cloakroom credential cache"),
            "Secrets of at least 32 bytes: the first seals, all open. To change it, put the new one first.")
    }
}

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
            optional: "limits.renewKeys", .integer(batchedKeys),
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
            optional: "userLimits.renewKeys", .integer(batchedKeys),
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

    struct Entitlements: SettingsGroup {
        let enabled = SettingsKey(
            "entitlements.enabled", .flag, default: true,
            "Whether a user's record in Redis is read for each request, with the rate limit.")
        let withoutRecord = SettingsKey(
            "entitlements.withoutRecord", .choice(of: Settings.Entitlements.WithoutRecord.self), default: .default,
            "Users without a record: `default` goes by the token and the default tier, `refuse` returns 403.")
    }
}

extension Settings.Vending {
    init(_ values: SettingsValues<SettingsTable.Vending>, roles: SessionRoles, scopes: Scopes, scope: Scope) {
        self.init(
            roles: roles,
            store: values.store,
            lifetime: .seconds(values.lifetimeSeconds),
            scopes: scopes,
            scope: scope,
            prefixes: values.prefixes,
            defaultTier: values.defaultTier,
            credentialCache: Settings.CredentialCache(
                enabled: values.credentialCache.enabled,
                maximumEntries: values.credentialCache.maximumEntries,
                sharedKeys: values.credentialCache.shared.enabled ? values.credentialCache.shared.keys ?? [] : []),
            sharing: values.sharing)
    }
}

extension Settings.Vending {
    package var roleARN: String { roles.main.arn }

    /// As in ARNs: `aws`, `aws-cn`, `aws-us-gov`, …
    package var partition: String { Self.partition(ofRole: roleARN) }

    /// The second part of an ARN.
    static func partition(ofRole arn: String) -> String {
        arn.split(separator: ":").dropFirst().first.map(String.init) ?? "aws"
    }
}

extension Settings.Tier {
    /// - Parameter vending: what it has where it names nothing of its own.
    init(_ values: SettingsValues<SettingsTable.Tier>, _ vending: Settings.Vending) {
        self.init(
            lifetime: values.lifetimeSeconds.map { .seconds($0) } ?? vending.lifetime,
            scope: values.scope.flatMap { vending.scopes[$0] } ?? vending.scope,
            renewals: values.limits.renew,
            vends: values.limits.vend,
            uploads: values.limits.upload,
            renewedKeys: values.limits.renewKeys,
            uploadedBytes: values.limits.uploadBytes,
            userRenewals: values.userLimits.renew,
            userVends: values.userLimits.vend,
            userUploads: values.userLimits.upload,
            userRenewedKeys: values.userLimits.renewKeys,
            userUploadedBytes: values.userLimits.uploadBytes,
            storageLimit: values.storageLimitBytes,
            requiresSubscription: values.requiresSubscription)
    }
}

extension Settings.Entitlements {
    init(_ values: SettingsValues<SettingsTable.Entitlements>) {
        enabled = values.enabled
        withoutRecord = values.withoutRecord
    }
}

package import CloakroomAWS
package import CloakroomCrypto

extension Settings {
    package struct Uploads: Sendable {
        package var contentTypes: [String]
        package var lifetime: Duration
        /// Empty, or ends in `/`.
        package var keyPrefix: String
        /// Without a trailing `/`; `nil` means the bucket's own address.
        package var assetBaseURL: String?
        /// Of any object.
        package var maximumBytes: Int
        /// Whether a presigned PUT must say its length.
        package var requiresContentLength: Bool
        /// What a presigned PUT without a length counts for.
        package var assumedBytes: Int
        /// What seals the ids of multipart uploads, the first first; empty: there are none.
        package var idKeys: [SealingKey]
        /// How long such an id is good.
        package var multipartLifetime: Duration
        /// `nil`: images of chats are uploaded as all others.
        package var chat: Chat?
    }

    package struct Renewal: Sendable {
        package enum PartialFailure: String, Sendable, CaseIterable { case retry, report }
        package enum Keys: String, Sendable, CaseIterable { case names, any }

        package var mode: RenewalSettings.Mode
        /// `preserve`, or a class.
        package var storageClass: String
        package var minimumAge: Duration
        package var keyPrefix: String
        /// Each empty or ending in `/`, none twice, none ``keyPrefix``.
        package var otherPrefixes: [String] = []
        package var maximumInFlight: Int
        package var partialFailure: PartialFailure
        /// `nil`: assets never expire.
        package var retention: Duration?
        /// ``retention`` as the settings and S3's rules have it.
        package var retentionDays: Int? { retention.map { Int($0.components.seconds / 86_400) } }
        /// `nil` leaves it to the bucket.
        package var encryption: RenewalSettings.Encryption?
        package var acl: String?
        /// What a key may be, behind its prefix and its user's folder.
        package var keys = Keys.names
        /// Each empty or ending in `/`: where users have the folders that alone they may renew in; `nil`: anywhere.
        package var ownFolders: [String]?
        /// Where images of chats are, none of which is renewed; `nil`: nowhere.
        package var chatKeyPrefix: String?

        /// The prefixes under which the object of a key is looked for, in this order: with keys that are names in no
        /// user's folder ``keyPrefix``, the prefix of uploads and the former prefixes; else ``keyPrefix`` alone.
        package var searchPrefixes: [String] { [keyPrefix] + otherPrefixes }
    }
}

extension SettingsTable {
    struct Uploads: SettingsGroup {
        let contentTypes = SettingsKey(
            "uploads.contentTypes", .texts(.mediaType),
            default: [
                "image/jpeg", "image/png", "image/heic", "image/webp", "image/gif", "video/mp4",
                "application/octet-stream",
            ], "What may be uploaded.")
        let lifetimeSeconds = SettingsKey(
            "uploads.lifetimeSeconds", .integer(1...900), default: 900, "How long an upload URL works.")
        let keyPrefix = SettingsKey(
            "uploads.keyPrefix", .text(.keyPrefix), default: "", "What new keys start with; empty, or ending in `/`.")
        let assetBaseURL = SettingsKey(
            optional: "uploads.assetBaseURL", .text(.baseURL), "Where assets are read from; null: the bucket itself.")
        let maximumBytes = SettingsKey(
            "uploads.maximumBytes", .integer(1...MultipartLayout.maximumBytes), default: 5_368_709_120,
            "The largest object; a single PUT to S3 takes 5368709120 at most.")
        let requireContentLength = SettingsKey(
            "uploads.requireContentLength", .flag, default: false,
            "Whether a presigned PUT must say its length, which S3 then enforces.")
        let assumedBytes = SettingsKey(
            "uploads.assumedBytes", .integer(1...5_368_709_120), default: 16_777_216,
            "What a presigned PUT without a length counts for.")
        let idKeys = SettingsKey(
            optional: "uploads.idKeys", .sealingKeys(purpose: "cloakroom upload ids"),
            "Secrets of at least 32 bytes for the ids of multipart uploads: the first seals, all open; null: no such uploads."
        )
        let multipartLifetimeSeconds = SettingsKey(
            "uploads.multipartLifetimeSeconds", .integer(900...604_800), default: 86_400,
            "How long a multipart upload may take.")
        let chatKeyPrefix = SettingsKey(
            optional: "uploads.chatKeyPrefix", .text(.keyPrefix),
            "What the keys of images of chats start with, such as `chats/`: beside all other prefixes; null: they are uploaded"
                + " as all others, and cannot be released.")
        let chatRetentionDays = SettingsKey(
            "uploads.chatRetentionDays", .integer(1...36_500), default: 30,
            "When images of chats end that are not released: the days of the bucket's rule for `uploads.chatKeyPrefix`."
        )
    }

    struct Renewal: SettingsGroup {
        let mode = SettingsKey(
            "renewal.mode", .choice(of: RenewalSettings.Mode.self), default: .auto,
            "`copy` as AWS takes it, `replace` for stores that refuse that, `auto` to find out.")
        let storageClass = SettingsKey(
            "renewal.storageClass",
            .choice([
                "STANDARD", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR", "REDUCED_REDUNDANCY",
                "EXPRESS_ONEZONE", "preserve",
            ]), default: "STANDARD",
            "The storage class of a renewed object; `preserve`: as it was, and all else too, for one request more a key."
        )
        let encryption = SettingsKey(
            "renewal.encryption", .choice(["bucket", "AES256", "aws:kms", "aws:kms:dsse"]), default: "bucket",
            "What renewed objects are encrypted with, where they are not looked at; `bucket`: as the bucket does.")
        let kmsKeyID = SettingsKey(
            optional: "renewal.kmsKeyID", .text(.kmsKey), "The key of KMS for that; null: AWS's own.")
        let bucketKey = SettingsKey(
            optional: "renewal.bucketKey", .flag, "Whether S3 keeps a key of KMS for the bucket; null: as the bucket.")
        let acl = SettingsKey(
            optional: "renewal.acl",
            .choice([
                "private", "public-read", "public-read-write", "authenticated-read", "aws-exec-read",
                "bucket-owner-read", "bucket-owner-full-control",
            ]), "The canned ACL of a renewed object (needs s3:PutObjectAcl); null: none, so its owner's alone.")
        let minimumAgeSeconds = SettingsKey(
            "renewal.minimumAgeSeconds", .integer(0...2_592_000), default: 86_400,
            "What is younger counts as renewed already.")
        let keyPrefix = SettingsKey(
            "renewal.keyPrefix", .text(.keyPrefix), default: "",
            "What stands before each key of a request; empty, or ending in `/`.")
        let formerPrefixes = SettingsKey(
            optional: "renewal.formerPrefixes", .texts(.keyPrefix),
            "With `names`: where else an asset is looked for, besides `renewal.keyPrefix` and `uploads.keyPrefix`;"
                + " \"\" is the root.")
        let keys = SettingsKey(
            "renewal.keys", .choice(of: Settings.Renewal.Keys.self), default: .names,
            "What keys may be: `names` of 1…255 letters, digits and ._-, beginning with a letter or digit; `any` of S3's."
        )
        let allowAnyOwner = SettingsKey(
            "renewal.allowAnyOwner", .flag, default: false,
            "Whether `any` keys may be everybody's: each user then keeps alive what others own, deleted users included."
        )
        let requireOwnPrefix = SettingsKey(
            "renewal.requireOwnPrefix", .flag, default: false,
            "Whether users renew in their own folders of `vending.prefixes` alone; other keys are `forbidden`, unsent.")
        let maximumInFlight = SettingsKey(
            "renewal.maximumInFlight", .integer(1...1024), default: 128,
            "How many copies a worker has under way at most; fewer while S3 responds SlowDown.")
        let partialFailure = SettingsKey(
            "renewal.partialFailure", .choice(of: Settings.Renewal.PartialFailure.self), default: .retry,
            "When some keys fail for a while: `retry` returns 503 for all, `report` tells each key's result.")
        let retentionDays = SettingsKey(
            "renewal.retentionDays", .integerOrNull(1...36_500), default: 30,
            "The bucket's lifecycle rule, for `expiresAt` when S3 does not say; null: nothing but images of chats expires."
        )
    }
}

extension Settings.Uploads {
    init(_ table: SettingsValues<SettingsTable>) {
        let values = table.uploads
        self.init(
            contentTypes: values.contentTypes,
            lifetime: .seconds(values.lifetimeSeconds),
            keyPrefix: values.keyPrefix,
            assetBaseURL: values.assetBaseURL,
            maximumBytes: values.maximumBytes,
            requiresContentLength: values.requireContentLength,
            assumedBytes: values.assumedBytes,
            idKeys: values.idKeys ?? [],
            multipartLifetime: .seconds(values.multipartLifetimeSeconds),
            chat: Settings.Chat(table))
    }
}

extension Settings.Renewal {
    init(_ values: SettingsValues<SettingsTable>, _ vending: Settings.Vending) {
        let renewal = values.renewal
        self.init(
            mode: renewal.mode,
            storageClass: renewal.storageClass,
            minimumAge: .seconds(renewal.minimumAgeSeconds),
            keyPrefix: renewal.keyPrefix,
            otherPrefixes: Self.otherPrefixes(renewal, uploads: values.uploads.keyPrefix),
            maximumInFlight: renewal.maximumInFlight,
            partialFailure: renewal.partialFailure,
            retention: renewal.retentionDays.map { Duration.seconds(86_400 * $0) },
            encryption: RenewalSettings.Encryption(renewal),
            acl: renewal.acl,
            keys: renewal.keys,
            ownFolders: renewal.requireOwnPrefix ? vending.prefixes.map(Settings.Vending.folder) : nil,
            chatKeyPrefix: values.uploads.chatKeyPrefix)
    }

    private static func otherPrefixes(
        _ values: SettingsValues<SettingsTable.Renewal>, uploads: String
    ) -> [String] {
        guard values.keys == .names, !values.requireOwnPrefix else { return [] }
        var prefixes = [values.keyPrefix]
        for prefix in [uploads] + (values.formerPrefixes ?? []) where !prefixes.contains(prefix) {
            prefixes.append(prefix)
        }
        return Array(prefixes.dropFirst())
    }
}

extension RenewalSettings.Encryption {
    /// - Returns: `nil` for what the bucket does by default.
    init?(_ values: SettingsValues<SettingsTable.Renewal>) {
        guard values.encryption != "bucket" else { return nil }
        self.init(algorithm: values.encryption, keyID: values.kmsKeyID, usesBucketKey: values.bucketKey)
    }
}

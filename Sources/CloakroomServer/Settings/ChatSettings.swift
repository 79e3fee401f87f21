package import CloakroomAWS

extension Settings {
    /// Images of chats: where they are, when they end, and how they are released before.
    package struct Chat: Sendable {
        /// Ends in `/`, and lies beside every other prefix.
        package var keyPrefix: String
        package var retentionDays: Int
        package var mode: ReleaseMode
        /// The first signs, all verify; at least one.
        package var keys: [ReleaseKey]
    }

    /// The place of images of chats; `nil` where there are none.
    package var chatPrefix: AssetPrefix? {
        uploads.chat.map { AssetPrefix(prefix: $0.keyPrefix, setting: SettingsTable.keys.uploads.chatKeyPrefix.path) }
    }
}

extension Settings.Chat {
    /// - Returns: `nil` without a prefix.
    init?(_ values: SettingsValues<SettingsTable>) {
        guard let prefix = values.uploads.chatKeyPrefix else { return nil }
        self.init(
            keyPrefix: prefix, retentionDays: values.uploads.chatRetentionDays, mode: values.release.mode,
            keys: values.release.keys ?? [])
    }
}

extension SettingsTable {
    struct Release: SettingsGroup {
        let mode = SettingsKey(
            "release.mode", .choice(of: ReleaseMode.self), default: .delete,
            "How images of chats are released: `delete` deletes them (s3:DeleteObject), `tag` gives them a tag for which the"
                + " bucket has a rule of one day (s3:PutObjectTagging).")
        let keys = SettingsKey(
            optional: "release.keys", .releaseKeys,
            "Secrets of at least 32 bytes for release tokens: the first signs, all verify; needed with"
                + " `uploads.chatKeyPrefix`.")
    }
}

extension SettingsCheck {
    /// What images of chats say against the rest of the settings.
    var chatFaults: [SettingsError] {
        [releaseKeys].compactMap(\.self) + ([chatPlace, chatRule].compactMap(\.self).first.map { [$0] } ?? [])
    }

    private var releaseKeys: SettingsError? {
        guard values.isValid(\.uploads.chatKeyPrefix), values.isValid(\.release.keys) else { return nil }
        switch (values.uploads.chatKeyPrefix, values.release.keys) {
        case (_?, nil):
            return values.fault(
                \.release.keys, "is missing, while uploads.chatKeyPrefix is given",
                "give a secret made with: openssl rand -base64 32")
        case (nil, _?):
            return values.fault(
                \.release.keys, "stands without uploads.chatKeyPrefix", "give both, or neither")
        case (nil, nil), (_?, _?): return nil
        }
    }

    /// Renewals and the right to delete are by prefix: images of chats lie in no other place, and hold none.
    private var chatPlace: SettingsError? {
        guard let chat = values.valid(\.uploads.chatKeyPrefix) else { return nil }
        guard !chat.isEmpty else {
            return values.fault(
                \.uploads.chatKeyPrefix, "is empty: the worker could delete the whole bucket",
                "give a prefix of its own, such as chats/")
        }
        // Names in the bucket itself have no slash, so that a folder is beside them.
        let places = otherPlaces.filter { !$0.prefix.isEmpty }
        guard let met = places.first(where: { chat.hasPrefix($0.prefix) || $0.prefix.hasPrefix(chat) }) else {
            return nil
        }
        return values.fault(
            \.uploads.chatKeyPrefix, "is \"\(chat)\", which is not beside \"\(met.prefix)\" of \(met.setting)",
            "give a prefix of its own, such as chats/")
    }

    /// Of two rules for one object S3 obeys the shorter.
    private var chatRule: SettingsError? {
        guard let chat = values.valid(\.uploads.chatKeyPrefix), values.isValid(\.lifecycle.prefixes),
            values.isValid(\.lifecycle.prefix), let uploads = values.valid(\.uploads.keyPrefix)
        else { return nil }
        let prefixes = values.lifecycle.prefixes ?? [values.lifecycle.prefix ?? uploads]
        guard let met = prefixes.first(where: { chat.hasPrefix($0) || $0.hasPrefix(chat) }) else { return nil }
        return values.fault(
            \.uploads.chatKeyPrefix,
            "is \"\(chat)\", but lifecycle.prefixes has \"\(met)\" for the same objects: their end is"
                + " uploads.chatRetentionDays alone",
            met.isEmpty
                ? "give lifecycle.prefixes without the bucket itself, such as [\"assets/\"]; for a bucket that exists:"
                    + " cloakroom lifecycle plan-prefixes" : "take \"\(met)\" out, or give another prefix")
    }

    private var otherPlaces: [AssetPrefix] { assetPrefixes + (userFolders ?? []) }
}

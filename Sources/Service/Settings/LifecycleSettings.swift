extension Settings {
    /// The bucket's lifecycle rule, as the commands write it and hold the bucket against it.
    package struct Lifecycle: Sendable, Equatable {
        /// Which objects the rule is for; empty for all.
        package var prefix: String
        /// How long a version stays that is no longer the current one.
        package var noncurrentDays: Int
        /// When the parts of an upload are dropped that was never completed.
        package var abortMultipartDays: Int
    }
}

extension Settings.Lifecycle {
    init(_ values: SettingsValues) {
        prefix = values.text("lifecycle.prefix")
        noncurrentDays = values.integer("lifecycle.noncurrentDays")
        abortMultipartDays = values.integer("lifecycle.abortMultipartDays")
    }
}

extension SettingsTable {
    static let lifecycle: [SettingsRow] = [
        .init(
            "lifecycle.prefix", .text(.keyPrefix), .text(""),
            "What the bucket's rule is for, by `renewal.retentionDays`; empty: every object, users' folders included."),
        .init(
            "lifecycle.noncurrentDays", .integer(1...36_500), .integer(7),
            "On a versioned bucket: how long a version stays that was overwritten, renewed or expired."),
        .init(
            "lifecycle.abortMultipartDays", .integer(1...36_500), .integer(7),
            "When the parts of an upload are dropped that was never completed."),
    ]
}

extension SettingsCheck {
    /// What the rule is not for would never expire, whatever `expiresAt` says.
    var lifecycleFault: SettingsFault? {
        guard let prefix = text("lifecycle.prefix") else { return nil }
        for path in ["renewal.keyPrefix", "uploads.keyPrefix"] {
            guard let keys = text(path), !keys.hasPrefix(prefix) else { continue }
            return SettingsFault(
                "lifecycle.prefix", "is \"\(prefix)\", but \(path) is \"\(keys)\": those objects would never expire",
                "give a prefix of both, or \"\"")
        }
        return nil
    }
}

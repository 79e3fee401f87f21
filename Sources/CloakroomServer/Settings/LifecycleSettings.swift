extension Settings {
    /// The bucket's lifecycle rules, as the commands write them and hold the bucket against them.
    package struct Lifecycle: Sendable, Equatable {
        /// Which objects expire, by the beginnings of their keys; at least one, and none begins with another.
        package var prefixes: [String]
        /// Whether a rule may match objects in users' folders.
        package var expiresUserFolders: Bool
        /// How long a version stays that is no longer the current one.
        package var noncurrentDays: Int
        /// When the parts of an upload are dropped that was never completed.
        package var abortMultipartDays: Int
    }
}

extension Settings.Lifecycle {
    init(_ values: SettingsValues<SettingsTable>) {
        let lifecycle = values.lifecycle
        prefixes = lifecycle.prefixes ?? [lifecycle.prefix ?? values.uploads.keyPrefix]
        expiresUserFolders = lifecycle.expiresUserFolders
        noncurrentDays = lifecycle.noncurrentDays
        abortMultipartDays = lifecycle.abortMultipartDays
    }
}

extension SettingsTable {
    struct Lifecycle: SettingsGroup {
        let prefixes = SettingsKey(
            optional: "lifecycle.prefixes", .texts(.lifecyclePrefix),
            "Which objects expire `renewal.retentionDays` after they were written, by the beginnings of their keys, one rule each; null: those behind `uploads.keyPrefix`."
        )
        let prefix = SettingsKey(
            optional: "lifecycle.prefix", .text(.keyPrefix),
            "The former name of `lifecycle.prefixes`, for a list of one.")
        let expiresUserFolders = SettingsKey(
            "lifecycle.expiresUserFolders", .flag, default: false,
            "Whether a rule may match objects in users' folders: they expire as well.")
        let noncurrentDays = SettingsKey(
            "lifecycle.noncurrentDays", .integer(1...36_500), default: 7,
            "On a versioned bucket: how long a version stays that was overwritten, renewed or expired, under these prefixes."
        )
        let abortMultipartDays = SettingsKey(
            "lifecycle.abortMultipartDays", .integer(1...36_500), default: 7,
            "When the parts of an upload are dropped that was never completed, in the whole bucket.")
    }
}

extension SettingsCheck {
    /// S3 keeps 1,000 rules a bucket, and others have some as well.
    private static let maximumPrefixes = 900

    var lifecycleFaults: [SettingsError] { [lifecycleTwice, lifecyclePrefixes, lifecycleUploads].compactMap(\.self) }

    private var lifecycleTwice: SettingsError? {
        guard values.valid(\.lifecycle.prefix) != nil, values.valid(\.lifecycle.prefixes) != nil else { return nil }
        return values.fault(
            \.lifecycle.prefix, "stands beside lifecycle.prefixes", "keep lifecycle.prefixes, with all prefixes")
    }

    private var lifecyclePrefixes: SettingsError? {
        guard let prefixes = values.valid(\.lifecycle.prefixes) else { return nil }
        guard prefixes.count <= Self.maximumPrefixes else {
            return values.fault(
                \.lifecycle.prefixes, "has \(prefixes.count) prefixes, and S3 keeps 1000 rules",
                "give \(Self.maximumPrefixes) at most")
        }
        // Sorted, those that begin with another follow it.
        let sorted = prefixes.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        guard let (outer, inner) = zip(sorted, sorted.dropFirst()).first(where: { $1.hasPrefix($0) }) else {
            return nil
        }
        return values.fault(
            \.lifecycle.prefixes, "has \"\(inner)\", which begins with \"\(outer)\": two rules for the same objects",
            "take \"\(inner)\" out")
    }

    /// What no rule is for never expires, whatever `expiresAt` says.
    private var lifecycleUploads: SettingsError? {
        guard let keys = values.valid(\.uploads.keyPrefix) else { return nil }
        let all = values.valid(\.lifecycle.prefixes)
        guard let prefixes = all ?? values.valid(\.lifecycle.prefix).map({ [$0] }),
            !LifecycleCoverage(prefixes).covers(keys)
        else { return nil }
        let cause =
            "is \(LifecycleCoverage.list(prefixes)), but uploads.keyPrefix is \"\(keys)\": those objects would never expire"
        let remedy = "add \"\(keys)\""
        return all == nil
            ? values.fault(\.lifecycle.prefix, cause, remedy) : values.fault(\.lifecycle.prefixes, cause, remedy)
    }
}

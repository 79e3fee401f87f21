extension Settings {
    /// What web pages may do in browsers. Their origins are nginx's and the bucket's affair: no request depends on them.
    package struct Web: Sendable, Equatable {
        /// As browsers send them in the field Origin; none twice.
        package var origins: [String]
        /// Whether the routes of Uppy's server, Companion, are there.
        package var companion = false
    }
}

extension SettingsTable {
    struct Web: SettingsGroup {
        let origins = SettingsKey(
            "web.origins", .texts(.pageOrigin), default: [],
            "Whose web pages may call this service and the bucket from a browser; `cloakroom nginx-cors` tells nginx.")
        let companion = SettingsKey(
            "web.companion", .flag, default: false,
            "Whether Uppy 4 and 5 can upload with `endpoint`, by the routes of its server, Companion, below `/companion`."
        )
    }
}

extension Settings.Web {
    init(_ values: SettingsValues<SettingsTable.Web>) {
        origins = values.origins
        companion = values.companion
    }
}

extension SettingsCheck {
    /// nginx compares a request's with one after the other.
    private static let maximumOrigins = 64

    var webFaults: [SettingsError] { [originCount, originTwice, companionKeys].compactMap(\.self) }

    private var originCount: SettingsError? {
        guard let origins = values.valid(\.web.origins), origins.count > Self.maximumOrigins else { return nil }
        return values.web.fault(
            \.origins, "has \(origins.count) origins", "give \(Self.maximumOrigins) at most")
    }

    private var companionKeys: SettingsError? {
        guard values.valid(\.web.companion) == true, values.isValid(\.uploads.idKeys),
            values.uploads.idKeys == nil
        else { return nil }
        return values.web.fault(
            \.companion, "is true without uploads.idKeys, which the ids of its uploads are sealed with",
            "give uploads.idKeys a secret made with: openssl rand -base64 32")
    }

    private var originTwice: SettingsError? {
        guard let origins = values.valid(\.web.origins) else { return nil }
        var known: Set<String> = []
        guard let repeated = origins.first(where: { !known.insert($0).inserted }) else { return nil }
        return values.web.fault(\.origins, "has \(repeated) twice", "take one of them out")
    }
}

extension Settings {
    /// What web pages may do in browsers: nginx and the bucket permit it, the workers do not know of it.
    package struct Web: Sendable, Equatable {
        /// As browsers send them in the field Origin; none twice.
        package var origins: [String]
    }
}

extension SettingsTable {
    struct Web: SettingsGroup {
        let origins = SettingsKey(
            "web.origins", .texts(.pageOrigin), default: [],
            "Whose web pages may call this service and the bucket from a browser; `cloakroom nginx-cors` tells nginx.")
    }
}

extension Settings.Web {
    init(_ values: SettingsValues<SettingsTable.Web>) { origins = values.origins }
}

extension SettingsCheck {
    /// nginx compares a request's with one after the other.
    private static let maximumOrigins = 64

    var webFaults: [SettingsError] { [originCount, originTwice].compactMap(\.self) }

    private var originCount: SettingsError? {
        guard let origins = values.valid(\.web.origins), origins.count > Self.maximumOrigins else { return nil }
        return values.web.fault(
            \.origins, "has \(origins.count) origins", "give \(Self.maximumOrigins) at most")
    }

    private var originTwice: SettingsError? {
        guard let origins = values.valid(\.web.origins) else { return nil }
        var known: Set<String> = []
        guard let repeated = origins.first(where: { !known.insert($0).inserted }) else { return nil }
        return values.web.fault(\.origins, "has \(repeated) twice", "take one of them out")
    }
}

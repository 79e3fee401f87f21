package import CloakroomCrypto

extension Settings {
    /// Spans for a collector.
    package struct Tracing: Sendable {
        /// With the path of OTLP.
        package var url: String
        package var authorization: Secret?
        /// A PEM file; `nil` means the system's.
        package var certificateAuthorities: String?
        package var timeout: Duration
        /// Of requests whose caller does not say.
        package var sampledPerThousand: Int
        /// In spans.
        package var queueLength: Int
        package var serviceName: String

        package init(
            url: String, authorization: Secret? = nil, certificateAuthorities: String? = nil, timeout: Duration,
            sampledPerThousand: Int, queueLength: Int, serviceName: String
        ) {
            self.url = url
            self.authorization = authorization
            self.certificateAuthorities = certificateAuthorities
            self.timeout = timeout
            self.sampledPerThousand = sampledPerThousand
            self.queueLength = queueLength
            self.serviceName = serviceName
        }
    }
}

extension SettingsTable {
    struct Tracing: SettingsGroup {
        let endpoint = SettingsKey(
            optional: "tracing.endpoint", .text(.baseURL),
            "Where spans go, by OTLP over HTTP: to `/v1/traces` below this; null: nowhere.")
        let authorization = SettingsKey(
            optional: "tracing.authorization", .secret,
            "The value of the header field `Authorization` for the collector, such as `Bearer` and a token.")
        let certificateAuthorities = SettingsKey(
            optional: "tracing.certificateAuthorities", .file,
            "PEM file of whom to trust there; null: whom the system trusts.")
        let timeoutMilliseconds = SettingsKey(
            "tracing.timeoutMilliseconds", .integer(100...30_000), default: 5000,
            "How long the collector may take for a batch.")
        let sampledPerThousand = SettingsKey(
            "tracing.sampledPerThousand", .integer(0...1000), default: 10,
            "How many of a thousand requests without a `traceparent` are traced.")
        let queueLength = SettingsKey(
            "tracing.queueLength", .integer(100...100_000), default: 2048,
            "How many spans of a worker wait for the collector; more are dropped.")
        let serviceName = SettingsKey(
            "tracing.serviceName", .text(.keyID), default: "cloakroom", "The attribute `service.name`.")
    }
}

extension Settings.Tracing {
    private static let path = "/v1/traces"

    /// - Returns: `nil` where there is no collector.
    init?(_ values: SettingsValues<SettingsTable.Tracing>) {
        guard let endpoint = values.endpoint else { return nil }
        self.init(
            url: endpoint + Self.path, authorization: values.authorization,
            certificateAuthorities: values.certificateAuthorities?.path,
            timeout: .milliseconds(values.timeoutMilliseconds), sampledPerThousand: values.sampledPerThousand,
            queueLength: values.queueLength, serviceName: values.serviceName)
    }
}

extension SettingsCheck {
    /// What goes to a collector in the open may be read on its way.
    var tracingFault: SettingsError? {
        let tracing = values.tracing
        guard let endpoint = tracing.valid(\.endpoint), tracing.valid(\.authorization) != nil,
            let origin = WebOrigin(endpoint), origin.scheme == "http", !origin.isLoopback
        else { return nil }
        return tracing.fault(
            \.authorization, "would be sent without TLS to \(endpoint)", "give tracing.endpoint with https")
    }
}

package import CloakroomJOSE

extension Settings {
    /// What other programs are told of.
    package struct Events: Sendable {
        /// By the name in braces behind the prefix of all keys.
        package var stream: String
        package var maximumLength: Int
        package var tellsSignIns: Bool
        /// `nil`: other programs read the stream.
        package var webhook: Webhook?

        package init(stream: String, maximumLength: Int, tellsSignIns: Bool, webhook: Webhook? = nil) {
            self.stream = stream
            self.maximumLength = maximumLength
            self.tellsSignIns = tellsSignIns
            self.webhook = webhook
        }

        package struct Webhook: Sendable {
            package var url: String
            package var key: HMACKey
            /// A PEM file; `nil` means the system's.
            package var certificateAuthorities: String?
            /// Of one attempt.
            package var timeout: Duration
            package var maximumAttempts: Int
            package var maximumAge: Duration
            /// About how many dead events are kept.
            package var deadMaximumLength: Int

            package init(
                url: String, key: HMACKey, certificateAuthorities: String? = nil, timeout: Duration,
                maximumAttempts: Int, maximumAge: Duration, deadMaximumLength: Int
            ) {
                self.url = url
                self.key = key
                self.certificateAuthorities = certificateAuthorities
                self.timeout = timeout
                self.maximumAttempts = maximumAttempts
                self.maximumAge = maximumAge
                self.deadMaximumLength = deadMaximumLength
            }
        }
    }
}

extension SettingsTable {
    struct Events: SettingsGroup {
        let stream = SettingsKey(
            optional: "events.stream", .text(.keyID),
            "A Redis stream that takes the events, in braces behind `redis.keyPrefix`; null: there are none.")
        let streamMaximumLength = SettingsKey(
            "events.streamMaximumLength", .integer(1000...10_000_000), default: 100_000,
            "About how many events the stream keeps.")
        let signIns = SettingsKey("events.signIns", .flag, default: false, "Whether sign-ins are events as well.")
        let webhook = Webhook()
    }

    struct Webhook: SettingsGroup {
        let url = SettingsKey(
            optional: "events.webhook.url", .text(.issuerURL),
            "Where the workers post each event; null: other programs read the stream.")
        let secret = SettingsKey(
            optional: "events.webhook.secret", .signingKey,
            "What signs the posts: at least 32 bytes, from a random generator.")
        let certificateAuthorities = SettingsKey(
            optional: "events.webhook.certificateAuthorities", .file,
            "PEM file of whom to trust there; null: whom the system trusts.")
        let timeoutMilliseconds = SettingsKey(
            "events.webhook.timeoutMilliseconds", .integer(100...30_000), default: 5000,
            "How long one attempt may take.")
        let maximumAttempts = SettingsKey(
            "events.webhook.maximumAttempts", .integer(1...1000), default: 100,
            "How often an event is posted before it is dead.")
        let maximumAgeSeconds = SettingsKey(
            "events.webhook.maximumAgeSeconds", .integer(60...604_800), default: 86_400,
            "How old an event may be when it is posted again; after that it is dead.")
        let deadMaximumLength = SettingsKey(
            "events.webhook.deadMaximumLength", .integer(100...1_000_000), default: 10_000,
            "About how many dead events are kept.")
    }
}

extension Settings.Events {
    /// - Returns: `nil` where there are no events.
    init?(_ values: SettingsValues<SettingsTable.Events>) {
        guard let stream = values.stream else { return nil }
        self.init(
            stream: stream, maximumLength: values.streamMaximumLength, tellsSignIns: values.signIns,
            webhook: Webhook(values.webhook))
    }
}

extension Settings.Events.Webhook {
    fileprivate init?(_ values: SettingsValues<SettingsTable.Webhook>) {
        guard let url = values.url, let key = values.secret else { return nil }
        self.init(
            url: url, key: key, certificateAuthorities: values.certificateAuthorities?.path,
            timeout: .milliseconds(values.timeoutMilliseconds), maximumAttempts: values.maximumAttempts,
            maximumAge: .seconds(values.maximumAgeSeconds), deadMaximumLength: values.deadMaximumLength)
    }
}

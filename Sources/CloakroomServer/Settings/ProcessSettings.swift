extension Settings {
    package struct Audit: Sendable {
        package enum Destination: Sendable, Equatable {
            case standardError
            case file(String)
            /// A Redis stream, by the name behind the prefix of all keys.
            case stream(String, maximumLength: Int)
        }

        package var destination: Destination
    }

    package struct Log: Sendable {
        package enum Level: String, Sendable, CaseIterable { case debug, info, warning, error }

        package var level: Level
        /// From when on a request's line says what it waited for; `nil`: never.
        package var slowRequest: Duration?
    }

    package struct Server: Sendable {
        package var maximumBodyBytes: Int
        package var requestDeadline: Duration
        /// Where workers leave their counters for each other; `nil`: where their supervisor says.
        package var metricsFolder: String?
        package var drain: Duration
        package var hungAfter: Duration
        /// Whether a crash may leave a core file, and a debugger of the same user may attach.
        package var coreDumps: Bool
    }
}

extension SettingsTable {
    struct Audit: SettingsGroup {
        let file = SettingsKey(
            optional: "audit.file", .text(.path),
            "Where the audit lines go; without it and `audit.stream`, to standard error.")
        let stream = SettingsKey(
            optional: "audit.stream", .text(.any),
            "A Redis stream that takes the audit lines instead, behind `redis.keyPrefix`; one more round trip a request."
        )
        let streamMaximumLength = SettingsKey(
            "audit.streamMaximumLength", .integer(1000...1_000_000_000), default: 1_000_000,
            "About how many lines the stream keeps.")
    }

    struct Log: SettingsGroup {
        let level = SettingsKey(
            "log.level", .choice(of: Settings.Log.Level.self), default: .info, "The least level that is written.")
        let slowRequestMilliseconds = SettingsKey(
            "log.slowRequestMilliseconds", .integer(0...300_000), default: 1000,
            "From when on the line of a request says how long it waited for Redis, STS and S3; 0: never.")
    }

    struct Server: SettingsGroup {
        let maximumBodyBytes = SettingsKey(
            "server.maximumBodyBytes", .integer(1024...16_777_216), default: 65_536,
            "The largest request body; nginx has the same limit.")
        let requestDeadlineMilliseconds = SettingsKey(
            "server.requestDeadlineMilliseconds", .integer(100...300_000), default: 15_000,
            "When a request gets 503, whatever it waits for.")
        let metricsFolder = SettingsKey(
            optional: "server.metricsFolder", .text(.path),
            "Where the workers of a host share counters; null: those of one supervisor share them.")
        let coreDumps = SettingsKey(
            "server.coreDumps", .flag, default: false,
            "Whether a crash may leave a core file, which holds secrets, and debuggers may attach.")
        let drainSeconds = SettingsKey(
            "server.drainSeconds", .integer(1...600), default: 20, "How long a stopping worker finishes requests.")
        let hungAfterMilliseconds = SettingsKey(
            "server.hungAfterMilliseconds", .integer(500...60_000), default: 5000,
            "How long a worker may show no sign of life before it is replaced.")
    }
}

extension Settings.Audit {
    init(_ values: SettingsValues<SettingsTable.Audit>) {
        if let file = values.file {
            destination = .file(file)
        } else if let stream = values.stream {
            destination = .stream(stream, maximumLength: values.streamMaximumLength)
        } else {
            destination = .standardError
        }
    }
}

extension Settings.Log {
    init(_ values: SettingsValues<SettingsTable.Log>) {
        level = values.level
        slowRequest = values.slowRequestMilliseconds == 0 ? nil : .milliseconds(values.slowRequestMilliseconds)
    }
}

extension Settings.Server {
    init(_ values: SettingsValues<SettingsTable.Server>) {
        self.init(
            maximumBodyBytes: values.maximumBodyBytes,
            requestDeadline: .milliseconds(values.requestDeadlineMilliseconds),
            metricsFolder: values.metricsFolder,
            drain: .seconds(values.drainSeconds),
            hungAfter: .milliseconds(values.hungAfterMilliseconds),
            coreDumps: values.coreDumps)
    }
}

import CloakroomWire

extension Settings {
    package struct Limits: Sendable {
        package var renew: Limit
        /// Keys, of all renewals.
        package var renewKeys: Limit
        package var release: Limit
        /// Images, of all releases.
        package var releaseKeys: Limit
        package var vend: Limit
        package var upload: Limit
        /// Bytes, of all uploads.
        package var uploadBytes: Limit
        package var session: Limit
        package var notification: Limit
    }

    package struct Limit: Sendable {
        package enum WithoutRedis: String, Sendable, CaseIterable { case open, closed }

        /// How many requests, keys or bytes of a device in a window.
        package var quota: Int
        /// How many of all devices of a user.
        package var userQuota: Int
        package var window: Duration
        /// As the requests' limit has it.
        package var whenRedisIsAway: WithoutRedis

        /// - Parameter userQuota: `nil` for four times as many as a device has.
        package init(quota: Int, userQuota: Int? = nil, window: Duration, whenRedisIsAway: WithoutRedis) {
            self.quota = quota
            self.userQuota = userQuota ?? Self.userQuota(forDevice: quota)
            self.window = window
            self.whenRedisIsAway = whenRedisIsAway
        }

        /// Header fields hold integers of 15 digits (RFC 9651 §3.3.1).
        static func userQuota(forDevice quota: Int) -> Int { min(4 * quota, 999_999_999_999_999) }
    }
}

extension SettingsTable {
    struct Limits: SettingsGroup {
        let renew = RequestLimit("renew", 10, whenRedisIsAway: .open)
        let vend = RequestLimit("vend", 60, whenRedisIsAway: .closed)
        let upload = RequestLimit("upload", 120, whenRedisIsAway: .open)
        let session = RequestLimit("session", 60, whenRedisIsAway: .closed)
        let notification = RequestLimit("notification", 60, whenRedisIsAway: .closed)
        let renewKeys = KeyLimit("renewKeys", 1000, "renews")
        let release = RequestLimit("release", 60, whenRedisIsAway: .open)
        let releaseKeys = KeyLimit("releaseKeys", 6000, "releases")
        let uploadBytes = ByteLimit()
    }

    struct RequestLimit: SettingsGroup {
        let requests: SettingsKey<Int>
        let userRequests: SettingsKey<Int?>
        let windowSeconds: SettingsKey<Int>
        let whenRedisIsAway: SettingsKey<Settings.Limit.WithoutRedis>

        init(_ name: String, _ standard: Int, whenRedisIsAway away: Settings.Limit.WithoutRedis) {
            requests = SettingsKey(
                "limits.\(name).requests", .integer(1...1_000_000), default: standard,
                "How many requests a device has in a window.")
            userRequests = SettingsKey(
                optional: "limits.\(name).userRequests", .integer(1...4_000_000),
                "How many requests all devices of a user have in a window; null: four times `requests`.")
            windowSeconds = SettingsKey(
                "limits.\(name).windowSeconds", .integer(1...86_400), default: 3600,
                "The window, from the first request on.")
            whenRedisIsAway = SettingsKey(
                "limits.\(name).whenRedisIsAway", .choice(of: Settings.Limit.WithoutRedis.self), default: away,
                "`open`: serve under a limit of the worker's own; `closed`: return 503.")
        }
    }

    struct KeyLimit: SettingsGroup {
        let keys: SettingsKey<Int>
        let userKeys: SettingsKey<Int?>
        let windowSeconds: SettingsKey<Int>

        /// - Parameter verb: what a device does with them, such as `renews`.
        init(_ name: String, _ standard: Int, _ verb: String) {
            keys = SettingsKey(
                "limits.\(name).keys", .integer(batchedKeys), default: standard,
                "How many keys a device \(verb) in a window, in all its requests.")
            userKeys = SettingsKey(
                optional: "limits.\(name).userKeys", .integer(batchedKeys),
                "How many keys all devices of a user \(verb.dropLast()) in a window; null: four times `keys`.")
            windowSeconds = SettingsKey(
                "limits.\(name).windowSeconds", .integer(1...86_400), default: 3600,
                "The window, from the first request on.")
        }
    }

    struct ByteLimit: SettingsGroup {
        let bytes = SettingsKey(
            "limits.uploadBytes.bytes", .integer(uploadedBytes), default: 10_737_418_240,
            "How many bytes a device announces in a window, in all its uploads; what is larger is never let in.")
        let userBytes = SettingsKey(
            optional: "limits.uploadBytes.userBytes", .integer(uploadedBytes),
            "How many bytes all devices of a user announce in a window; null: four times `bytes`.")
        let windowSeconds = SettingsKey(
            "limits.uploadBytes.windowSeconds", .integer(1...86_400), default: 3600,
            "The window, from the first request on.")
    }

    /// A full batch must pass, or those clients that know no other would never renew or release again.
    static let batchedKeys = WireLimits.maximumKeysPerRequest...100_000_000
    /// Header fields hold integers of 15 digits (RFC 9651 §3.3.1).
    static let uploadedBytes = 1...999_999_999_999_999
}

extension Settings.Limits {
    init(_ values: SettingsValues<SettingsTable.Limits>) {
        let (keys, released, bytes) = (values.renewKeys, values.releaseKeys, values.uploadBytes)
        self.init(
            renew: Settings.Limit(values.renew),
            renewKeys: Settings.Limit(
                quota: keys.keys, userQuota: keys.userKeys, window: .seconds(keys.windowSeconds),
                whenRedisIsAway: values.renew.whenRedisIsAway),
            release: Settings.Limit(values.release),
            releaseKeys: Settings.Limit(
                quota: released.keys, userQuota: released.userKeys, window: .seconds(released.windowSeconds),
                whenRedisIsAway: values.release.whenRedisIsAway),
            vend: Settings.Limit(values.vend),
            upload: Settings.Limit(values.upload),
            uploadBytes: Settings.Limit(
                quota: bytes.bytes, userQuota: bytes.userBytes, window: .seconds(bytes.windowSeconds),
                whenRedisIsAway: values.upload.whenRedisIsAway),
            session: Settings.Limit(values.session),
            notification: Settings.Limit(values.notification))
    }
}

extension Settings.Limit {
    init(_ values: SettingsValues<SettingsTable.RequestLimit>) {
        self.init(
            quota: values.requests, userQuota: values.userRequests, window: .seconds(values.windowSeconds),
            whenRedisIsAway: values.whenRedisIsAway)
    }
}

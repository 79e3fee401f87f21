package import CloakroomCrypto
package import CloakroomRedis

extension Settings {
    package struct Redis: Sendable {
        /// Where Redis is.
        package enum Servers: Sendable, Equatable {
            case single(RedisAddress)
            /// The master that the sentinels know by this name.
            case sentinels([RedisAddress], master: String)
            /// Nodes of a cluster, which name the others.
            case cluster([RedisAddress])

            /// Whether a replica takes the place of a master that fails.
            package var hasFailover: Bool {
                switch self {
                case .single: false
                case .sentinels, .cluster: true
                }
            }
        }

        package var servers: Servers
        package var username: String?
        package var password: Secret?
        package var sentinelUsername: String?
        package var sentinelPassword: Secret?
        package var database: Int
        package var usesTLS: Bool
        /// A PEM file; `nil` means the system's.
        package var certificateAuthorities: String?
        package var keyPrefix: String
        package var timeout: Duration
    }
}

extension Settings.Redis.Servers: CustomStringConvertible {
    /// For a sentence.
    package var description: String {
        switch self {
        case .single(let address): "\(address)"
        case .sentinels(let addresses, let master):
            "\(master), of the sentinels \(addresses.map(\.description).joined(separator: ", "))"
        case .cluster(let addresses): "the cluster of \(addresses.map(\.description).joined(separator: ", "))"
        }
    }

    /// All that are connected to by what the settings say.
    package var addresses: [RedisAddress] {
        switch self {
        case .single(let address): [address]
        case .sentinels(let addresses, _), .cluster(let addresses): addresses
        }
    }

    /// The key that has them.
    package var key: String {
        switch self {
        case .single: "redis.address"
        case .sentinels: "redis.sentinels"
        case .cluster: "redis.cluster"
        }
    }
}

extension SettingsTable {
    struct Redis: SettingsGroup {
        let address = SettingsKey(
            optional: "redis.address", .text(.redisAddress),
            "`host:port`, or `unix:` and a path; null: `127.0.0.1:6379`, unless there are sentinels or a cluster.")
        let sentinels = SettingsKey(
            optional: "redis.sentinels", .texts(.redisHost),
            "Redis Sentinels that know where the master is, in place of `redis.address`; 16 at most.")
        let master = SettingsKey(
            optional: "redis.master", .text(.redisMaster), "The name by which the sentinels know the master.")
        let cluster = SettingsKey(
            optional: "redis.cluster", .texts(.redisHost),
            "Nodes of a Redis Cluster, in place of `redis.address`: some of them, 16 at most.")
        let username = SettingsKey(optional: "redis.username", .text(.any), "The ACL user.")
        let password = SettingsKey(optional: "redis.password", .secret, "Its password.")
        let sentinelUsername = SettingsKey(
            optional: "redis.sentinelUsername", .text(.any), "The ACL user of the sentinels.")
        let sentinelPassword = SettingsKey(optional: "redis.sentinelPassword", .secret, "Its password there.")
        let database = SettingsKey("redis.database", .integer(0...15), default: 0, "The database's number.")
        let tls = SettingsKey(
            "redis.tls", .flag, default: false,
            "Whether Redis and its sentinels are reached through TLS 1.2 or newer, their names verified.")
        let certificateAuthorities = SettingsKey(
            optional: "redis.certificateAuthorities", .file, "PEM file of whom to trust; null: whom the system trusts.")
        let keyPrefix = SettingsKey(
            "redis.keyPrefix", .text(.redisKeyPrefix), default: "cloakroom:", "What all our keys start with.")
        let timeoutMilliseconds = SettingsKey(
            "redis.timeoutMilliseconds", .integer(1...5000), default: 40, "How long one response may take.")
    }
}

extension Settings.Redis {
    init(_ values: SettingsValues<SettingsTable.Redis>) {
        func address(_ text: String) -> RedisAddress {
            guard let address = RedisAddress(text) else { preconditionFailure("checked by its shape") }
            return address
        }
        if let sentinels = values.sentinels, let master = values.master {
            servers = .sentinels(sentinels.map(address), master: master)
        } else if let nodes = values.cluster {
            servers = .cluster(nodes.map(address))
        } else {
            servers = .single(address(values.address ?? "127.0.0.1:6379"))
        }
        username = values.username
        password = values.password
        sentinelUsername = values.sentinelUsername
        sentinelPassword = values.sentinelPassword
        database = values.database
        usesTLS = values.tls
        certificateAuthorities = values.certificateAuthorities?.path
        keyPrefix = values.keyPrefix
        timeout = .milliseconds(values.timeoutMilliseconds)
    }
}

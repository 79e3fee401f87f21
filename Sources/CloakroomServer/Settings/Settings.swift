package import CloakroomAWS
package import CloakroomCrypto
package import CloakroomJOSE

/// Everything an operator decides, read once at start; nothing else reads the environment or the file.
///
/// Each key is described in ``SettingsTable``.
package struct Settings: Sendable {
    package var region: String
    package var bucket: String
    package var aws: AWSAccess
    package var tokens: Tokens
    /// `nil` when sign-in is off.
    package var session: Session?
    package var vending: Vending
    /// By name; none means that all tiers are alike.
    package var tiers: [String: Tier]
    package var entitlements: Entitlements
    package var uploads: Uploads
    package var renewal: Renewal
    package var lifecycle: Lifecycle
    package var limits: Limits
    package var redis: Redis
    package var audit: Audit
    package var log: Log
    package var server: Server
}

extension Settings {
    package struct Tokens: Sendable {
        /// Read besides `Authorization`.
        package var header: String
        /// How far an issuer's clock may be from ours.
        package var leeway: Duration
        /// For fetching keys: a PEM file; `nil` means the system's.
        package var certificateAuthorities: String?
        package var issuers: [Issuer]

        /// How far the clock of the issuer may be from ours that tolerates least.
        package var smallestLeeway: Duration { issuers.map { $0.leeway ?? leeway }.min() ?? leeway }
    }

    /// Our own tokens.
    package struct Session: Sendable {
        package var issuer: String
        package var audience: String
        package var lifetime: Duration
        /// Since the sign-in.
        package var maximumAge: Duration
        /// At least one; the first signs.
        package var keys: [TokenSigningKey]
    }

    package struct Vending: Sendable {
        /// The prefix of a folder that ``prefixes`` names: empty for the bucket itself.
        package static func folder(_ name: String) -> String { name.isEmpty ? "" : name + "/" }

        package var roleARN: String
        package var store: ObjectStore
        package var lifetime: Duration
        package var externalID: String?
        package var scopes: Scopes
        /// What a tier has that names none.
        package var scope: Scope
        /// Where each user has a folder; an empty one is the bucket itself.
        package var prefixes: [String]
        /// The tier of a token that names none.
        package var defaultTier: String
        package var credentialCache: CredentialCache
    }

    /// What users of one tier may do.
    package struct Tier: Sendable {
        package var lifetime: Duration
        package var scope: Scope
        /// In a window; `nil` means as many as everybody.
        package var renewals: Int?
        package var vends: Int?
        package var uploads: Int?
        package var renewedKeys: Int?
        package var uploadedBytes: Int?
        /// The same for all devices of a user; `nil` means four times the tier's own number, else as many as everybody.
        package var userRenewals: Int?
        package var userVends: Int?
        package var userUploads: Int?
        package var userRenewedKeys: Int?
        package var userUploadedBytes: Int?
        /// In bytes; `nil` means no limit.
        package var storageLimit: Int?
        package var requiresSubscription = false
    }

    package struct Entitlements: Sendable {
        package enum WithoutRecord: String, Sendable, CaseIterable { case `default`, refuse }

        /// Whether users' records are read at all.
        package var enabled: Bool
        package var withoutRecord: WithoutRecord
    }

    package struct CredentialCache: Sendable {
        package var enabled: Bool
        package var maximumEntries: Int
        /// What seals the entries in Redis, the first first; empty: nothing is shared.
        package var sharedKeys: [SealingKey]
    }

    package struct Uploads: Sendable {
        package var contentTypes: [String]
        package var lifetime: Duration
        /// Empty, or ends in `/`.
        package var keyPrefix: String
        /// Without a trailing `/`; `nil` means the bucket's own address.
        package var assetBaseURL: String?
        /// Of any object.
        package var maximumBytes: Int
        /// Whether a presigned PUT must say its length.
        package var requiresContentLength: Bool
        /// What a presigned PUT without a length counts for.
        package var assumedBytes: Int
        /// What seals the ids of multipart uploads, the first first; empty: there are none.
        package var idKeys: [SealingKey]
        /// How long such an id is good.
        package var multipartLifetime: Duration
    }

    package struct Renewal: Sendable {
        package enum PartialFailure: String, Sendable, CaseIterable { case retry, report }
        package enum Keys: String, Sendable, CaseIterable { case names, any }

        package var mode: RenewalSettings.Mode
        /// `preserve`, or a class.
        package var storageClass: String
        package var minimumAge: Duration
        package var keyPrefix: String
        /// Each empty or ending in `/`, none twice, none ``keyPrefix``.
        package var otherPrefixes: [String] = []
        package var maximumInFlight: Int
        package var partialFailure: PartialFailure
        package var retention: Duration
        /// ``retention`` as the settings and S3's rules have it.
        package var retentionDays: Int { Int(retention.components.seconds / 86_400) }
        /// `nil` leaves it to the bucket.
        package var encryption: RenewalSettings.Encryption?
        package var acl: String?
        /// What a key may be, behind its prefix and its user's folder.
        package var keys = Keys.names
        /// Each empty or ending in `/`: where users have the folders that alone they may renew in; `nil`: anywhere.
        package var ownFolders: [String]?

        /// The prefixes under which the object of a key is looked for, in this order: with keys that are names in no
        /// user's folder ``keyPrefix``, the prefix of uploads and the former prefixes; else ``keyPrefix`` alone.
        package var searchPrefixes: [String] { [keyPrefix] + otherPrefixes }
    }

    package struct Limits: Sendable {
        package var renew: Limit
        /// Keys, of all renewals.
        package var renewKeys: Limit
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

    package struct Redis: Sendable {
        package enum Address: Sendable, Equatable {
            case tcp(host: String, port: UInt16)
            case unix(path: String)
        }

        package var address: Address
        package var username: String?
        package var password: Secret?
        package var database: Int
        package var usesTLS: Bool
        /// A PEM file; `nil` means the system's.
        package var certificateAuthorities: String?
        package var keyPrefix: String
        package var timeout: Duration
    }

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

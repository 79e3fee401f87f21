package import CloakroomAWS
package import CloakroomCrypto
public import Foundation

/// Temporary credentials for the user's own part of a bucket, as the worker vends them.
///
/// The description leaves the secrets out.
public struct VendedCredentials: Sendable, Equatable {
    package let credentials: Credentials
    public let region: String
    public let bucket: String
    /// When S3 stops accepting them.
    public let expiration: Date
    /// The user's identifier with the service; `nil` from workers that do not send it.
    public let userID: String?
    /// Where they open objects, each ending in `/`, by the folder's name in the worker's settings, such as `photos` and
    /// `photos/u_1/`; `nil` from workers that do not send them. ``PhotoLayout/init(vended:userID:)`` reads them.
    public let prefixes: [String: String]?
    /// What they read and list of other users' folders besides.
    public let shared: [SharedFolder]

    /// A folder that another user shares.
    public struct SharedFolder: Sendable, Hashable, Codable {
        /// What the keys of its objects begin with; ends in `/`.
        public let prefix: String
        /// The other user's identifier with the service.
        public let owner: String
        /// It is shared no longer than this.
        public let until: Date

        public init(prefix: String, owner: String, until: Date) {
            self.prefix = prefix
            self.owner = owner
            self.until = until
        }
    }

    /// For a ``CredentialVendor`` of the app's own.
    ///
    /// - Parameters:
    ///   - userID: 1 to 64 of `A–Z a–z 0–9 _ -`.
    ///   - prefixes: at most 100, each ending in `/`, without empty components, `.` or `..`, and at most 1,024 bytes long.
    ///   - shared: at most 100, with prefixes of the same kind.
    public init(
        accessKeyID: String, secretAccessKey: String, sessionToken: String, expiration: Date, region: String,
        bucket: String, userID: String? = nil, prefixes: [String: String]? = nil,
        shared: [SharedFolder] = []
    ) {
        self.init(
            accessKeyID: accessKeyID, secretAccessKey: Secret(secretAccessKey), sessionToken: Secret(sessionToken),
            expiration: expiration, region: region, bucket: bucket, userID: userID, prefixes: prefixes,
            shared: shared)
    }

    package init(
        accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret, expiration: Date, region: String,
        bucket: String, userID: String? = nil, prefixes: [String: String]? = nil,
        shared: [SharedFolder] = []
    ) {
        credentials = Credentials(
            accessKeyID: accessKeyID, secretAccessKey: secretAccessKey, sessionToken: sessionToken,
            expiration: expiration)
        self.region = region
        self.bucket = bucket
        self.expiration = expiration
        self.userID = userID
        self.prefixes = prefixes
        self.shared = shared
    }

    public var accessKeyID: String { credentials.accessKeyID }
    /// For another S3 client; never log it.
    public func revealSecretAccessKey() -> String { credentials.secretAccessKey.reveal() }
    /// For another S3 client; never log it.
    public func revealSessionToken() -> String { credentials.sessionToken?.reveal() ?? "" }
}

extension VendedCredentials: CustomStringConvertible, CustomReflectable {
    public var description: String { "credentials for \(bucket) in \(region) until \(expiration)" }
    public var customMirror: Mirror {
        Mirror(self, children: ["bucket": bucket, "region": region, "expiration": expiration])
    }
}

/// Vends credentials: ``CloakroomClient``, or a test double.
public protocol CredentialVendor: Sendable {
    func vendCredentials() async throws -> VendedCredentials
}

/// A vendor whose responses have the server's time.
package protocol TimekeepingVendor: CredentialVendor {
    var serverClock: ServerClock { get }
}

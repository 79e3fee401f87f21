package import CloakroomCrypto
public import Foundation

/// Temporary credentials in the form that AWS SDKs accept. The description leaves the secrets out.
public struct ContainerCredentials: Sendable, Equatable {
    public let accessKeyID: String
    package let secretAccessKey: Secret
    package let sessionToken: Secret
    /// When S3 stops accepting them.
    public let expiration: Date

    /// Never log it.
    public func revealSecretAccessKey() -> String { secretAccessKey.reveal() }
    /// Never log it.
    public func revealSessionToken() -> String { sessionToken.reveal() }
}

extension ContainerCredentials: CustomStringConvertible, CustomReflectable {
    public var description: String { "credentials until \(expiration)" }
    public var customMirror: Mirror { Mirror(self, children: ["expiration": expiration]) }
}

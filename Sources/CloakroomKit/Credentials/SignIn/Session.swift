package import CloakroomCrypto
public import Foundation

/// The worker's own token for a user who signed in. It is a bearer token: the description leaves it out.
public struct Session: Sendable, Equatable {
    package let token: Secret
    /// When it ends; it can be continued before that.
    public let expiration: Date
    /// The user's identifier with the service, which names the user's folders.
    public let userID: String

    /// - Parameter token: as ``revealToken()`` gave it to be kept, in the keychain.
    public init(token: String, expiration: Date, userID: String) {
        self.token = Secret(token)
        self.expiration = expiration
        self.userID = userID
    }

    /// For the token provider and for keeping; never log it.
    public func revealToken() -> String { token.reveal() }
}

extension Session: CustomStringConvertible, CustomReflectable {
    public var description: String { "session of \(userID) until \(expiration)" }
    public var customMirror: Mirror { Mirror(self, children: ["userID": userID, "expiration": expiration]) }
}

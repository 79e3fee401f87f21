// What the sources use of Apple's AuthenticationServices, as its documentation declares it. Never run: for the type checker
// alone.
public import Foundation

/// https://developer.apple.com/documentation/authenticationservices/asauthorizationappleidprovider
public class ASAuthorizationAppleIDProvider: NSObject {
    /// In Apple's header an enumeration that may get further cases.
    public enum CredentialState: Int, Sendable {
        case revoked, authorized, notFound, transferred
    }

    public class var credentialRevokedNotification: NSNotification.Name { preconditionFailure("a stub") }
    public override init() { super.init() }
    public func credentialState(forUserID userID: String) async throws -> CredentialState {
        preconditionFailure("a stub")
    }
}

// What the sources and articles use of Apple's AuthenticationServices, as its documentation declares it. Never run: for the type checker
// alone.
public import Foundation
public import SwiftUI

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

/// https://developer.apple.com/documentation/authenticationservices/asauthorizationappleidrequest
public class ASAuthorizationAppleIDRequest: NSObject {
    public var nonce: String?
}

/// https://developer.apple.com/documentation/authenticationservices/asauthorizationappleidcredential
public class ASAuthorizationAppleIDCredential: NSObject, ASAuthorizationCredential {
    public var user: String { preconditionFailure("a stub") }
    public var identityToken: Data? { preconditionFailure("a stub") }
}

public protocol ASAuthorizationCredential: NSObjectProtocol {}

public class ASAuthorization: NSObject {
    public var credential: any ASAuthorizationCredential { preconditionFailure("a stub") }
}

/// https://developer.apple.com/documentation/authenticationservices/signinwithapplebutton
public struct SignInWithAppleButton: Leaf {
    public struct Label: Sendable {
        public static let signIn = Label()
    }
    public init(
        _ label: Label = .signIn, onRequest: @escaping (ASAuthorizationAppleIDRequest) -> Void,
        onCompletion: @escaping (Result<ASAuthorization, any Error>) -> Void
    ) { preconditionFailure("a stub") }
}

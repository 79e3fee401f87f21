package import CloakroomJOSE

/// Why the caller stays unknown. The reason is for the log; the client learns 401, or 503 where waiting may help.
package enum IdentityRefusal: Error, Sendable, Equatable {
    case token(TokenError)
    /// The issuer's keys have not been fetched yet.
    case keysUnavailable
    /// The issuer's tokens are for the exchange, and this is another route, or the other way round.
    case wrongUse
    /// The token or the request lacks the nonce that the other has, or that the settings require.
    case nonceMissing
    case nonceMismatch
    /// A notification came where an identity token should be.
    case unexpectedEvents
    /// No notification, or one that does not say what happened.
    case noEvents
    /// The user id stands for what belongs to others: see ``ReservedUserIDs``.
    case reservedUserID
    /// The sign-in was too long ago for another session.
    case signInTooOld

    package var reason: String {
        switch self {
        case .token(let error): error.rawValue
        case .keysUnavailable: "keys_unavailable"
        case .wrongUse: "wrong_use"
        case .nonceMissing: "nonce_missing"
        case .nonceMismatch: "nonce_mismatch"
        case .unexpectedEvents: "unexpected_events"
        case .noEvents: "no_events"
        case .reservedUserID: "reserved_user_id"
        case .signInTooOld: "sign_in_too_old"
        }
    }
}

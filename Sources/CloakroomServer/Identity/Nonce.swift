import CloakroomCrypto
import CloakroomJOSE

/// Ties an identity token to the app that requested it: the token holds the digest of a nonce that only the app knows.
///
/// Source: Apple, "Authenticating users with Sign in with Apple": the app gives Apple SHA-256 of its nonce; the claim
/// is there only if it did, and some platforms cannot carry one, which `nonce_supported: false` tells.
enum Nonce {
    static let maximumByteCount = 256

    /// - Parameter nonce: as the app made it, not hashed; `nil` when the request has none.
    static func check(_ nonce: String?, against claims: Claims, isRequired: Bool) throws(IdentityRefusal) {
        let claim: String?
        do throws(TokenError) { claim = try claims.optionalText("nonce", maximumByteCount: maximumByteCount) } catch {
            throw .token(error)
        }
        switch (claim, nonce) {
        case (let claim?, let nonce?):
            let digest = SHA256.hash(nonce.utf8).hexadecimal
            guard constantTimeEqual(Array(claim.utf8), Array(digest.utf8)) else { throw .nonceMismatch }
        case (_?, nil): throw .nonceMissing
        case (nil, _?) where claims["nonce_supported"]?.bool == false && !isRequired: return
        case (nil, _?): throw .nonceMissing
        case (nil, nil): if isRequired { throw .nonceMissing }
        }
    }
}

import CloakroomCrypto
import CloakroomJOSE
import Testing

@testable import CloakroomServer

struct NonceTests {
    private static let digest = SHA256.hash("raw".utf8).hexadecimal

    /// The claims, the request's nonce, whether one is required; and why it is refused.
    @Test(
        arguments: [
            (#"{"nonce":"\#(digest)"}"#, "raw", false, nil), (#"{"nonce":"\#(digest)"}"#, "raw", true, nil),
            ("{}", nil, false, nil), (#"{"nonce":null}"#, nil, false, nil),
            (#"{"nonce_supported":false}"#, "raw", false, nil),
            (#"{"nonce":"\#(digest)"}"#, "other", false, .nonceMismatch),
            (#"{"nonce":"raw"}"#, "raw", false, .nonceMismatch),
            (#"{"nonce":"\#(digest.uppercased())"}"#, "raw", false, .nonceMismatch),
            (#"{"nonce":"\#(digest)","nonce_supported":false}"#, "other", false, .nonceMismatch),
            (#"{"nonce":"\#(digest)"}"#, nil, false, .nonceMissing),
            ("{}", "raw", false, .nonceMissing), (#"{"nonce_supported":true}"#, "raw", false, .nonceMissing),
            ("{}", nil, true, .nonceMissing), (#"{"nonce_supported":false}"#, "raw", true, .nonceMissing),
            (#"{"nonce":7}"#, "raw", false, .token(.badClaims)),
        ] as [(String, String?, Bool, IdentityRefusal?)])
    func `is the digest of what the app made`(
        claims: String, nonce: String?, isRequired: Bool, refusal: IdentityRefusal?
    ) throws {
        let claims = try Claims(Array(claims.utf8))
        var found: IdentityRefusal?
        do throws(IdentityRefusal) { try Nonce.check(nonce, against: claims, isRequired: isRequired) } catch {
            found = error
        }
        #expect(found == refusal)
    }
}

import CloakroomCrypto
import CloakroomKit
import Testing

@Suite struct SignInNonceTests {
    @Test func `a nonce is 32 bytes in base64url that no other has, and its request has the SHA-256`() throws {
        let nonce = SignInNonce()
        let text = nonce.reveal()
        #expect(try #require(Base64URL.decode(text.utf8)).count == 32)
        #expect(text.count == 43)
        #expect(nonce.digest == SHA256.hash(Array(text.utf8)).hexadecimal && nonce.digest.count == 64)
        #expect(SignInNonce().reveal() != text)
        #expect(!"\(nonce) \(String(reflecting: nonce))".contains(text))
    }
}

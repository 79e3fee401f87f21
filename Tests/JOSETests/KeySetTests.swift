import CloakroomCrypto
import JOSE
import StrictJSON
import Testing

struct KeySetTests {
    private static let text = Base64URL.encode(Array("an arbitrary key of 32 bytes, ok".utf8))

    private func outcome(_ key: String, kid: String? = "a", allowed: Set<SignatureAlgorithm> = [.hs256]) throws
        -> TokenError?
    {
        let signer = try #require(HMACKey(Array("an arbitrary key of 32 bytes, ok".utf8)))
        let header = kid.map { #"{"alg":"HS256","kid":"\#($0)"}"# } ?? #"{"alg":"HS256"}"#
        let message = Base64URL.encode(header.utf8) + ".e30"
        let jws = try JWS(compact: Array((message + "." + Base64URL.encode(signer.sign(message.utf8))).utf8))
        let json = try JSON(parsing: Array(#"{"keys":[{"kty":"RSA"},\#(key)]}"#.utf8))
        let keys = try #require(KeySet(jwks: json, origin: .own))
        do throws(TokenError) {
            try keys.verify(jws, allowed: allowed)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        #"{"kty":"oct","k":"\#(text)","kid":"a"}"#,
        #"{"kty":"oct","k":"\#(text)","kid":"a","use":"sig","alg":"HS256","key_ops":["sign","verify"]}"#,
        #"{"kty":"oct","k":"\#(text)"}"#,
    ])
    func `verifies with the key the token names`(key: String) throws {
        #expect(try outcome(key) == nil)
        #expect(try outcome(key, kid: nil) == nil)
    }

    @Test(arguments: [
        #"{"kty":"oct","k":"\#(text)","kid":"b"}"#,
        #"{"kty":"oct","k":"\#(text)","kid":"a","use":"enc"}"#,
        #"{"kty":"oct","k":"\#(text)","kid":"a","alg":"HS512"}"#,
        #"{"kty":"oct","k":"\#(text)","kid":"a","alg":"A256GCM"}"#,
        #"{"kty":"oct","k":"\#(text)","kid":"a","key_ops":["sign"]}"#,
        #"{"kty":"RSA","n":"\#(text)","e":"AQAB","kid":"a"}"#,
        #"{"kty":"oct","k":"c2hvcnQ","kid":"a"}"#,
        #"{"kty":"oct","k":"\#(text)=","kid":"a"}"#,
    ])
    func `finds no key in one that is another, or for something else`(key: String) throws {
        #expect(try outcome(key) == .unknownKey)
    }

    @Test func `refuses an algorithm that is not allowed, and another key's signature`() throws {
        #expect(try outcome(#"{"kty":"oct","k":"\#(Self.text)","kid":"a"}"#, allowed: []) == .algorithmRefused)
        let other = Base64URL.encode([UInt8](repeating: 1, count: 32))
        #expect(try outcome(#"{"kty":"oct","k":"\#(other)","kid":"a"}"#) == .badSignature)
    }
}

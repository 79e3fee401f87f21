import Foundation
import Testing

@testable import CloakroomCrypto

struct DigestTests {
    @Test(arguments: [
        // FIPS 180-4 examples (NIST CSRC).
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ])
    func `hashes the published examples`(message: String, digest: String) {
        #expect(SHA256.hash(message.utf8).hexadecimal == digest)
    }

    @Test func `gives equal digests to equal bytes alone`() {
        let digests = (0..<100).map { SHA256.digest([UInt8](repeating: 7, count: $0)) }
        #expect(Set(digests).count == 100)
        #expect(SHA256.digest([7, 7, 7]) == digests[3])
    }

    @Test func `authenticates as RFC 4231 does`() {
        let key = HMACSHA256(key: [UInt8](repeating: 0x0b, count: 20))
        let code = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        #expect(key.authenticate("Hi There".utf8).hexadecimal == code)
        #expect(key.authenticate("Hi There".utf8).hexadecimal == code, "the key survives its first message")
    }

    @Test(arguments: [
        (
            HashFunction.sha384,
            "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6"
        ),
        (
            .sha512,
            "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4"
                + "be9d914eeb61f1702e696c203a126854"
        ),
    ])
    func `authenticates as RFC 4231 does with longer hashes`(hash: HashFunction, code: String) {
        #expect(HMAC(hash, key: [UInt8](repeating: 0x0b, count: 20)).authenticate("Hi There".utf8).hexadecimal == code)
    }

    /// The long functions take SHA-256 as well, by another way.
    @Test func `agrees with libcrypto's own function for keys and messages of every length`() {
        for count in [0, 1, 31, 32, 55, 56, 63, 64, 65, 127, 128, 129, 300] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
            let other = LibcryptoHMAC(.sha256, key: bytes)
            #expect(HMAC(key: bytes).authenticate([1, 2]) == other.authenticate([1, 2]))
            let short = LibcryptoHMAC(.sha256, key: [1, 2])
            #expect(HMAC(key: [1, 2]).authenticate(bytes) == short.authenticate(bytes))
            #expect(HMAC(key: [1, 2]).authenticate(bytes[...]) == HMAC(key: [1, 2]).authenticate(bytes))
            var pieces = SHA256()
            pieces.update(bytes)
            #expect(SHA256.hash(bytes) == pieces.finalize())
        }
    }

    @Test func `shows nothing of its key`() {
        var dumped = ""
        dump(HMACSHA256(key: [1]), to: &dumped)
        #expect(dumped.split(separator: "\n").count == 1)
    }

    @Test func `keeps messages apart that share a key at the same time`() async {
        let key = HMACSHA256(key: [1])
        let codes = (0..<64).map { HMACSHA256(key: [1]).authenticate([UInt8](repeating: $0, count: 500)) }
        await withTaskGroup(of: Bool.self) { group in
            for (byte, code) in zip(UInt8(0)..., codes) {
                group.addTask {
                    (0..<20).allSatisfy { _ in key.authenticate([UInt8](repeating: byte, count: 500)) == code }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test func `takes an empty key`() {
        let code = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"
        #expect(HMACSHA256(key: []).authenticate([]).hexadecimal == code)
    }
}

struct Base64URLTests {
    @Test(arguments: ["", "f", "fo", "foo", "foob", "\u{ff}\u{fe}~~"])
    func `comes back as it went`(text: String) {
        #expect(Base64URL.decode(Base64URL.encode(text.utf8).utf8) == Array(text.utf8))
    }

    @Test(arguments: ["A", "AA==", "A+A", "A/A", "A A", "AB", "AAB", "é"])
    func `refuses what no encoder writes`(text: String) {
        #expect(Base64URL.decode(text.utf8) == nil)
    }

    @Test func `agrees with Foundation at every length, and refuses a foreign character at every place`() {
        for count in 0...40 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
            let text = Base64URL.encode(bytes)
            let theirs = Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            #expect(text == theirs.replacing("=", with: ""))
            #expect(Base64URL.decode(text.utf8) == bytes)
            for place in 0..<text.utf8.count {
                for foreign in "=+/ \u{0}\u{80}".utf8 {
                    var wrong = Array(text.utf8)
                    wrong[place] = foreign
                    #expect(Base64URL.decode(wrong) == nil)
                }
            }
        }
    }
}

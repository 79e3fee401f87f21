import CloakroomCrypto
import Foundation
import Testing

struct IncrementalDigestTests {
    /// RFC 1321 §A.5, the test suite.
    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        (String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"),
    ])
    func `gives the MD5 of the published messages`(message: String, digest: String) {
        #expect(MD5.hash(message.utf8).hexadecimal == digest)
        var pieces = MD5()
        for byte in message.utf8 { pieces.update(CollectionOfOne(byte)) }
        #expect(pieces.finalize().hexadecimal == digest)
    }

    /// FIPS 180-4, the examples of one block and of two (NIST CSRC), and a million times "a" (FIPS 180-2, B.3).
    @Test(arguments: [
        ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        ("aaaaaaaaaa", 100_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func `gives the SHA-256 of the published messages`(message: String, count: Int, digest: String) {
        var pieces = SHA256()
        for _ in 0..<count { pieces.update(message.utf8) }
        #expect(pieces.finalize().hexadecimal == digest)
    }

    @Test func `does not care where a message is cut, or how its bytes are held`() {
        let message = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let (md5, sha256) = (MD5.hash(message), SHA256.hash(message))
        for cut in [0, 1, 55, 56, 63, 64, 65, 128, 299, 300] {
            var one = MD5()
            var other = SHA256()
            one.update(Data(message[..<cut]))
            other.update(message[..<cut])
            message[cut...].withUnsafeBytes { rest in
                one.update(rest)
                other.update(rest)
            }
            #expect(one.finalize() == md5)
            #expect(other.finalize() == sha256)
        }
    }

    @Test func `begins another message when one is over`() {
        var md5 = MD5()
        var sha256 = SHA256()
        for message in ["abc", "", "a longer message"] {
            md5.update(message.utf8)
            sha256.update(message.utf8)
            #expect(md5.finalize() == MD5.hash(message.utf8))
            #expect(sha256.finalize() == SHA256.hash(message.utf8))
        }
    }
}

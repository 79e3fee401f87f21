import CloakroomCrypto
import Foundation
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

struct KeyWeaknessTests {
    @Test(arguments: [
        ("", KeyWeakness.short),
        ("secret", .short),
        ("0123456789abcdefghijklmnopqrstu", .short),
        (String(repeating: "a", count: 64), .pattern),
        (String(repeating: "\u{0}", count: 32), .pattern),
        (String(repeating: "x7Kq2", count: 10), .pattern),
        ("0123456789abcdef0123456789abcdef", .pattern),
        ("abcdefghijklmnopqrstuvwxyz012345", .pattern),
        ("aabbaabababbabaabbababbaabbbabab", .lowVariety),
        ("secretsecretsecretsecretsecretsecret", .wellKnown),
        ("changemechangemechangemechangeme", .wellKnown),
        ("your-256-bit-secret-your-256-bit-secret", .wellKnown),
        ("a-string-secret-at-least-256-bits-long", .wellKnown),
        ("ThisIsMySuperSecretPassword1234567890!", .wellKnown),
        ("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow", .wellKnown),
        ("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ+EstJQLr/T+1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow==", .wellKnown),
        (TestKeys.rsaPublic, .keyFile),
        ("\n" + TestKeys.p256, .keyFile),
        (#"{"kty":"oct","k":"u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae"}"#, .keyFile),
        ("hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg", .wellKnown),
        ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", .wellKnown),
        ("!ChangeThisMercureHubJWTSecretKey!", .wellKnown),
        ("09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7", .wellKnown),
        ("09D25E094FAA6CA2556C818166B7A9563B93F7099F6F0F4CAA6CF63B88E8D3E7", .wellKnown),
        ("gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr9C", .wellKnown),
        ("TheAmazingKreskinTheAmazingKresk", .wellKnown),
        ("kFW^=2C.77j&2sb>'H]V-WLCz==^XukX", .wellKnown),
        ("GVzzSWmP5nsmbOMQGvHnvAoJqXHaNeDPC6SH3I53", .wellKnown),
        ("1234567890-POWERFULENCRYPTIONKEY", .wellKnown),
        ("POWERFULENCRYPTIONKEYxxxxxxxxxxx", .wellKnown),
        ("POWERFULENCRYPTIONKEY2026112200!", .wellKnown),
    ])
    func `refuses what can be guessed`(key: String, weakness: KeyWeakness) {
        #expect(KeyWeakness(of: Array(key.utf8)) == weakness)
    }

    @Test func `refuses the bytes of a published key as well as its text`() {
        let bytes = Base64URL.decode("hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg".utf8)
        #expect(KeyWeakness(of: bytes ?? []) == .wellKnown)
    }

    /// As openssl rand makes them with `-hex 16`, `-hex 32` and `-base64 32`, and 32 bytes as they are.
    ///
    /// `CLOAKROOM_RANDOM_KEYS` says how many of each; 100,000 take three minutes.
    @Test func `takes random keys in every usual form`() {
        var refused: [String] = []
        let count = ProcessInfo.processInfo.environment["CLOAKROOM_RANDOM_KEYS"].flatMap { Int($0) } ?? 200
        for _ in 0..<count {
            let bytes = randomBytes(32)
            let forms = [
                bytes, Array(randomBytes(16).hexadecimal.utf8), Array(bytes.hexadecimal.utf8),
                Array(Data(bytes).base64EncodedString().utf8),
            ]
            refused += forms.compactMap { key in
                KeyWeakness(of: key).map { "\($0): \(String(decoding: key, as: UTF8.self))" }
            }
        }
        #expect(refused == [])
    }
}

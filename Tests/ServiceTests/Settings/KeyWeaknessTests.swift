import CloakroomCrypto
import Support
import Testing

@testable import Service

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
    ])
    func `refuses what can be guessed`(key: String, weakness: KeyWeakness) {
        #expect(KeyWeakness(of: Array(key.utf8)) == weakness)
    }

    @Test func `refuses the bytes of a published key as well as its text`() {
        let bytes = Base64URL.decode("hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg".utf8)
        #expect(KeyWeakness(of: bytes ?? []) == .wellKnown)
    }

    @Test func `takes random keys in every usual form`() {
        var refused: [String] = []
        for _ in 0..<200 {
            let bytes = randomBytes(32)
            let forms =
                [bytes, Array(bytes.hexadecimal.utf8), Array(Base64URL.encode(bytes).utf8)]
                + [Array(randomBytes(16).hexadecimal.utf8)]
            refused += forms.compactMap { KeyWeakness(of: $0).map { "\($0)" } }
        }
        #expect(refused == [])
    }
}

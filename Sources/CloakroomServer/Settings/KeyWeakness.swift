import CloakroomCrypto
import CloakroomJOSE

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Why a key must not sign tokens: an attacker who guesses it can sign in as any user.
package enum KeyWeakness: Sendable, Equatable {
    case short
    /// A key of another kind, as a file holds it: its public half is known to everyone.
    case keyFile
    /// A few bytes over and over, or one after the other as they are counted.
    case pattern
    case lowVariety
    /// Printed in a standard, a tutorial or a manual, or made of words from there by padding or repetition.
    case wellKnown

    package init?(of key: [UInt8]) {
        guard key.count >= HMACKey.minimumByteCount else {
            self = .short
            return
        }
        if Self.isKeyFile(key) {
            self = .keyFile
        } else if Self.isMadeOfWords(key) {
            self = .wellKnown
        } else if Self.isPattern(key) {
            self = .pattern
        } else if PublishedSecrets.contains(key) || PublishedSecrets.isMade(key) {
            self = .wellKnown
        } else if Self.entropy(key) < Self.leastEntropy {
            self = .lowVariety
        } else {
            return nil
        }
    }

    package var description: String {
        switch self {
        case .short: "is shorter than \(HMACKey.minimumByteCount) bytes"
        case .keyFile: "is a key file (PEM or JWK), not a secret"
        case .pattern: "repeats a pattern"
        case .lowVariety: "has too little variety to be random"
        case .wellKnown: "is, or is made of, a well-known example"
        }
    }

    /// A random key of 32 decimal digits has about 100.
    private static let leastEntropy = 80.0

    /// Bits, as if each byte came alone with the frequency it has here: high for random keys of any alphabet.
    private static func entropy(_ key: [UInt8]) -> Double {
        Dictionary(grouping: key) { $0 }.values.reduce(0) { bits, same in
            bits - Double(same.count) * log2(Double(same.count) / Double(key.count))
        }
    }

    /// RFC 7468 §2, RFC 7517 §4.1.
    private static func isKeyFile(_ key: [UInt8]) -> Bool {
        key.contains("-----BEGIN ".utf8) || key.contains("\"kty\"".utf8)
    }

    private static func isPattern(_ key: [UInt8]) -> Bool {
        let steps = zip(key, key.dropFirst()).map { $1 &- $0 }
        let commonest = Dictionary(grouping: steps) { $0 }.values.map(\.count).max() ?? 0
        return commonest * 2 > steps.count
            || (1...key.count / 2).contains { period in key.dropFirst(period).elementsEqual(key.dropLast(period)) }
    }

    private static func isMadeOfWords(_ key: [UInt8]) -> Bool {
        var rest = String(decoding: key, as: UTF8.self).lowercased()
        let length = rest.count
        for word in words { rest = rest.replacing(word, with: "") }
        guard rest.count < length else { return false }
        // A random key that had a word in it by chance is still random without it.
        return entropy(Array(rest.utf8)) < leastEntropy
    }

    /// Longer words first, so that none hides another.
    private static let words = [
        "administrator", "authentication", "development", "production", "cloakroom", "placeholder", "replaceme",
        "changethis", "changeit", "changeme", "supersecret", "topsecret", "verysecret", "password", "passphrase",
        "insecure", "default", "example", "sample", "random", "secure", "secret", "shared", "signing", "private",
        "string", "convos", "photolala", "letmein", "qwerty", "minimum", "characters", "character", "bytes", "long",
        "least", "please", "change", "replace", "this", "that", "with", "your", "hmac", "sha256", "hs256", "token",
        "jwt", "admin", "test", "demo", "super", "value", "here", "must", "more", "than", "very", "bits", "foo", "bar",
        "key", "abc", "the", "not", "for", "and", "use", "bit",
    ]
}

package import CloakroomCrypto

/// A secret for HS256, HS384 and HS512; prints as `<secret>` and never gives its bytes back.
package struct HMACKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// RFC 7518 §3.2: at least as long as the hash; this is for the shortest.
    package static let minimumByteCount = SHA256.byteCount

    /// By hash, for those that the secret is long enough for.
    private let functions: [(hash: HashFunction, function: HMAC)]

    /// - Returns: `nil` for a key shorter than ``minimumByteCount``.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.minimumByteCount else { return nil }
        functions = HashFunction.allCases.filter { $0.byteCount <= bytes.count }.map { ($0, HMAC($0, key: bytes)) }
    }

    /// Whether the secret is as long as the hash, or longer.
    package func isLongEnough(for hash: HashFunction) -> Bool { functions.contains { $0.hash == hash } }

    /// The code of HS256.
    package func sign(_ message: some Collection<UInt8>) -> [UInt8] {
        functions[0].function.authenticate(message)
    }

    /// - Returns: `nil` when the secret is too short for this hash.
    package func sign(_ message: some Collection<UInt8>, with hash: HashFunction) -> [UInt8]? {
        functions.first { $0.hash == hash }?.function.authenticate(message)
    }

    /// Whether a token signed with one verifies with the other.
    package func makesSameCodes(as other: HMACKey) -> Bool { constantTimeEqual(sign([]), other.sign([])) }

    package var description: String { "<secret>" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

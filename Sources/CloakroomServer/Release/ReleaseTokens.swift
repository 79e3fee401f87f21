import CloakroomCrypto

/// A key that makes release tokens; prints as `<secret>`.
package struct ReleaseKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let mac: HMACSHA256

    /// A key of its own, whatever else the same secret is used for (HMAC-SHA256, as HKDF's first step).
    package init(from secret: [UInt8]) {
        mac = HMACSHA256(key: HMACSHA256(key: secret).authenticate(Array("cloakroom release tokens".utf8)))
    }

    func authenticate(_ message: [UInt8]) -> [UInt8] { mac.authenticate(message) }

    package var description: String { "<secret>" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Release tokens: who has one, and is signed in as the user it was made for, may have the object of its key released.
///
/// A token is `v1.` and the HMAC-SHA256 over version, bucket, key and user in base64url. Nothing is stored: a token holds
/// until its key leaves the list.
package struct ReleaseTokens: Sendable {
    private static let version = "v1"

    private let keys: [ReleaseKey]
    /// What comes before key and user in each message.
    private let start: [UInt8]

    /// - Parameter keys: the first signs, all verify.
    /// - Precondition: there is a key.
    package init(keys: [ReleaseKey], bucket: String) {
        precondition(!keys.isEmpty)
        self.keys = keys
        var start: [UInt8] = []
        Self.append(Self.version, to: &start)
        Self.append(bucket, to: &start)
        self.start = start
    }

    package func token(for key: String, of user: UserID) -> String {
        "\(Self.version).\(Base64URL.encode(keys[0].authenticate(message(key, user))))"
    }

    /// Compares in constant time.
    package func verify(_ token: String, for key: String, of user: UserID) -> Bool {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard token.utf8.count <= 64, parts.count == 2, parts[0].elementsEqual(Self.version.utf8),
            let code = Base64URL.decode(Array(parts[1]))
        else { return false }
        let message = message(key, user)
        return keys.contains { constantTimeEqual($0.authenticate(message), code) }
    }

    private func message(_ key: String, _ user: UserID) -> [UInt8] {
        var message = start
        message.reserveCapacity(start.count + key.utf8.count + user.text.utf8.count + 8)
        Self.append(key, to: &message)
        Self.append(user.text, to: &message)
        return message
    }

    /// With its length before it, so that no two lists of texts make one message.
    private static func append(_ text: String, to message: inout [UInt8]) {
        let count = UInt32(text.utf8.count)
        for shift in [24, 16, 8, 0] as [UInt32] { message.append(UInt8(truncatingIfNeeded: count >> shift)) }
        message += text.utf8
    }
}

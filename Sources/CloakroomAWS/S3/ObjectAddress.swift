/// A key, encoded for the places where it is sent.
package struct ObjectAddress: Sendable, Hashable {
    /// Every byte but `A-Za-z0-9-._~/` encoded, once; `+` as well, which S3 would take for a space.
    package let encodedKey: String

    /// - Returns: `nil` for a key that S3 cannot have: empty, or over 1,024 bytes.
    package init?(key: String) {
        guard (1...1024).contains(key.utf8.count) else { return nil }
        encodedKey = PercentEncoding.encode(key, keepingSlashes: true)
    }

    package func path(at endpoint: Endpoint) -> String { endpoint.path + "/" + encodedKey }
}

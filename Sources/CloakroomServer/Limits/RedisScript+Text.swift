import CloakroomCrypto
package import CloakroomRedis

extension RedisScript {
    /// - Parameter text: in Lua; Redis keeps it under its SHA-1.
    package init(text: String) { self.init(source: text, digest: SHA1.hash(Array(text.utf8)).hexadecimal) }
}

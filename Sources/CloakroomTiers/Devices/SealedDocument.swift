import CloakroomCrypto
import CloakroomKit
import Foundation

/// How a document is written: `{"version":1,"sha256":"…","content":…}`.
///
/// The SHA-256, in hexadecimal, is that of the content's bytes as they stand there: one that was damaged in a digit of a
/// date would be read as another date.
enum SealedDocument {
    private static let version = 1
    private static let beginning = Data("{\"version\":\(version),\"sha256\":\"".utf8)
    private static let middle = Data("\",\"content\":".utf8)
    private static let end = Data("}".utf8)

    /// - Parameter content: JSON.
    static func bytes(of content: Data) -> Data { beginning + digest(content) + middle + content + end }

    /// - Throws: ``CloakroomError/Code/storeFailed`` for a document of another version, and a damaged one.
    static func content(of bytes: Data, named name: String) throws(CloakroomError) -> Data {
        let digits = 2 * SHA256.byteCount
        guard bytes.count >= beginning.count + digits + middle.count + end.count, bytes.starts(with: beginning) else {
            throw unknown(bytes, name)
        }
        let rest = bytes.dropFirst(beginning.count + digits)
        let content = rest.dropFirst(middle.count).dropLast(end.count)
        guard rest.starts(with: middle), rest.suffix(end.count) == end,
            bytes.dropFirst(beginning.count).prefix(digits) == digest(content)
        else { throw damaged(name) }
        return content
    }

    static func damaged(_ name: String) -> CloakroomError {
        CloakroomError(.storeFailed, "\(name) is damaged: it cannot be read as what its name says")
    }

    private static func digest(_ content: Data) -> Data { Data(SHA256.hash(content).hexadecimal.utf8) }

    private struct Version: Decodable {
        var version: Int
    }

    /// What does not begin as ours is of another version, or damaged.
    private static func unknown(_ bytes: Data, _ name: String) -> CloakroomError {
        guard let other = try? JSONDecoder().decode(Version.self, from: bytes).version, other != version else {
            return damaged(name)
        }
        return CloakroomError(.storeFailed, "\(name) was written by another version of the app (\(other))")
    }
}

import CloakroomCrypto
import Foundation

/// What identifies an image in the cache: a digest, which says nothing of the image's link.
struct ImageID: Hashable, Sendable {
    /// 32 hexadecimal digits.
    let text: String

    /// - Parameter name: such as the key of an object; two images never have the same.
    init(of name: String) { text = SHA256.hash(Array(name.utf8)).prefix(16).hexadecimal }

    /// What stands for an image whose end, in seconds since 1970, a message has named.
    func ending(at end: Int64) -> ImageID { ImageID(of: "\(text) until \(end)") }

    /// - Returns: `nil` for what is no such digest.
    init?(text: some StringProtocol) {
        guard text.utf8.count == 32, text.utf8.allSatisfy(\.isHexadecimalDigit) else { return nil }
        self.text = String(text)
    }
}

/// A cached image: all that is known of it is in the name of its file, so that there is no index to be lost or wrong.
struct CachedImage: Equatable, Sendable {
    let id: ImageID
    /// Of its bytes: MD5 or SHA-256, in hexadecimal.
    let digest: String
    let byteCount: Int64
    /// When it ends, in whole seconds since 1970; 0 for never.
    var end: Int64

    /// Such as `0f…-9a…-48213-1795183200.image`.
    var fileName: String { "\(id.text)-\(digest)-\(byteCount)-\(end)\(Self.suffix)" }

    init(id: ImageID, digest: String, byteCount: Int64, expiration: Date?) {
        self.id = id
        self.digest = digest
        self.byteCount = byteCount
        end = expiration.map(Self.seconds) ?? 0
    }

    /// - Returns: `nil` for a file of another kind.
    init?(fileName: String) {
        guard fileName.hasSuffix(Self.suffix) else { return nil }
        let parts = fileName.dropLast(Self.suffix.count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 4, let id = ImageID(text: parts[0]), [32, 64].contains(parts[1].utf8.count),
            parts[1].utf8.allSatisfy(\.isHexadecimalDigit), let byteCount = Int64(parts[2]), byteCount > 0,
            let end = Int64(parts[3]), end >= 0
        else { return nil }
        self.id = id
        digest = String(parts[1])
        self.byteCount = byteCount
        self.end = end
    }

    func hasEnded(at date: Date) -> Bool { end != 0 && end <= Self.seconds(date) }

    /// Whether these are the bytes that were cached.
    func matches(_ bytes: [UInt8]) -> Bool {
        guard Int64(bytes.count) == byteCount else { return false }
        return digest == (digest.utf8.count == 32 ? MD5.hash(bytes) : SHA256.hash(bytes)).hexadecimal
    }

    /// Rounded down, so that an image never outlives its end.
    static func seconds(_ date: Date) -> Int64 {
        Int64(min(max(date.timeIntervalSince1970, 1), 253_402_300_799).rounded(.down))
    }

    private static let suffix = ".image"
}

extension UInt8 {
    fileprivate var isHexadecimalDigit: Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self)
    }
}

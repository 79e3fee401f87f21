import CloakroomCrypto
import CloakroomTiers
import Foundation

/// The bytes of photos and thumbnails: random, and the same ones for the same number.
enum Content {
    static let thumbnailBytes = 6000

    static func photo(_ number: Int, byteCount: Int) -> Data { random(UInt64(number) + 1, byteCount: byteCount) }

    static func name(_ number: Int) -> String { String(format: "photo-%06d", number) }

    /// The thumbnail of a photo, by the photo's first bytes.
    static func thumbnail(_ photo: Data) -> Data {
        let seed = photo.prefix(8).reduce(UInt64(1)) { $0 &* 31 &+ UInt64($1) }
        return Data([0xFF, 0xD8, 0xFF, 0xE0]) + random(seed, byteCount: thumbnailBytes - 4)
    }

    /// Eight bytes at a time (splitmix64, Steele, Lea and Flood 2014).
    private static func random(_ seed: UInt64, byteCount: Int) -> Data {
        var state = seed &* 0xD134_2543_DE82_EF95
        let words = (0..<(byteCount + 7) / 8).map { _ in
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
            return word ^ word >> 31
        }
        return words.withUnsafeBytes { Data($0.prefix(byteCount)) }
    }
}

/// Thumbnails that were made before: what is measured is not libvips.
struct CannedThumbnails: Thumbnailer {
    func thumbnail(of file: URL, maximumPixelSize: Int) async throws -> Thumbnail {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        let head = try handle.read(upToCount: 8) ?? Data()
        return Thumbnail(bytes: Content.thumbnail(head), width: 256, height: 192)
    }
}

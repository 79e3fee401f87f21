import CloakroomKitTestSupport
import CloakroomTiers
import Foundation

/// The bytes of photos and thumbnails: random, and the same ones for the same number.
enum Content {
    static let thumbnailBytes = 6000

    static func photo(_ number: Int, byteCount: Int) -> Data { .numbered(number + 1, count: byteCount) }

    static func name(_ number: Int) -> String { String(format: "photo-%06d", number) }

    /// The thumbnail of a photo, by the photo's first bytes.
    static func thumbnail(_ photo: Data) -> Data {
        let number = photo.prefix(8).reduce(1) { $0 &* 31 &+ Int($1) }
        return Data([0xFF, 0xD8, 0xFF, 0xE0]) + .numbered(number, count: thumbnailBytes - 4)
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

public import Foundation

/// Makes small pictures of photos.
public protocol Thumbnailer: Sendable {
    /// - Parameters:
    ///   - file: any bytes at all.
    ///   - maximumPixelSize: of the longer edge.
    /// - Returns: a JPEG, upright, of at most ``Thumbnail/maximumBytes``.
    /// - Throws: when there is no picture in it, or none that can be read: another attempt is made within a week. With the next run
    ///   after ``CloakroomError/Code/timedOut``, ``CloakroomError/Code/unavailable``, ``CloakroomError/Code/diskFull``,
    ///   ``CloakroomError/Code/unwritableFile`` and a cancellation.
    func thumbnail(of file: URL, maximumPixelSize: Int) async throws -> Thumbnail
}

/// A small picture of a photo.
public struct Thumbnail: Sendable, Equatable {
    /// JPEG.
    public var bytes: Data
    /// In pixels.
    public var width: Int
    public var height: Int

    public static let maximumPixelSize = 256
    public static let maximumBytes = 16 << 10

    public init(bytes: Data, width: Int, height: Int) {
        self.bytes = bytes
        self.width = width
        self.height = height
    }
}

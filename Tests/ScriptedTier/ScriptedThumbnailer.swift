import CloakroomCrypto
import CloakroomKit
package import CloakroomTiers
package import Foundation
import Synchronization

/// Small pictures without an image library: a file's thumbnail follows from its bytes.
package final class ScriptedThumbnailer: Thumbnailer {
    /// There is no picture in files that begin with this.
    package static let noPicture = Data("not a picture".utf8)

    private let gate: @Sendable (URL) async throws -> Void
    private let count = Mutex(0)

    /// - Parameter gate: passed before each; throws for what cannot be read now.
    package init(gate: @escaping @Sendable (URL) async throws -> Void = { _ in }) { self.gate = gate }

    /// Of thumbnails that were made.
    package var made: Int { count.withLock { $0 } }

    package func thumbnail(of file: URL, maximumPixelSize: Int) async throws -> Thumbnail {
        try await gate(file)
        let bytes = try Data(contentsOf: file)
        guard !bytes.isEmpty, !bytes.starts(with: Self.noPicture) else {
            throw CloakroomError(.unreadableFile, "there is no picture in it")
        }
        count.withLock { $0 += 1 }
        return Self.thumbnail(of: bytes, maximumPixelSize: maximumPixelSize)
    }

    /// What a photo's thumbnail has to be.
    package static func thumbnail(of bytes: Data, maximumPixelSize: Int = Thumbnail.maximumPixelSize) -> Thumbnail {
        let picture = [0xFF, 0xD8, 0xFF, 0xE0] + SHA256.hash(bytes) + [0xFF, 0xD9]
        return Thumbnail(bytes: Data(picture), width: maximumPixelSize, height: maximumPixelSize * 3 / 4)
    }
}

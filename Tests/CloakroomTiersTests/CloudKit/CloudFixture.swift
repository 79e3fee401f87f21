import CloakroomCrypto
import CloakroomKit
import Foundation
import Synchronization
import Testing

@testable import CloakroomTiers

/// A tier on a scripted container, in a folder of its own.
final class CloudFixture: Sendable {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
        "cloud-\(UUID().uuidString)", isDirectory: true)
    let container = ScriptedCloudContainer()
    let tier: CloudKitColdTier
    /// The waits between attempts, in seconds.
    let waits: Waits
    private let seconds: Waits

    final class Waits: Sendable {
        private let list = Mutex<[Double]>([])
        var all: [Double] { list.withLock { $0 } }
        func add(_ seconds: Double) { list.withLock { $0.append(seconds) } }
    }

    init() throws {
        let (waits, seconds) = (Waits(), Waits())
        (self.waits, self.seconds) = (waits, seconds)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let start = ContinuousClock.now
        tier = try CloudKitColdTier(
            container, zone: "Test", scratch: folder, sleep: { waits.add($0 / .seconds(1)) },
            instant: { start + .seconds(seconds.all.reduce(0, +)) })
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Moves the monotonic clock.
    func pass(_ seconds: Double) { self.seconds.add(seconds) }

    func photo(_ content: String) throws -> (file: URL, photo: PhotoDescriptor) {
        let bytes = Array(content.utf8)
        let file = folder.appendingPathComponent("\(MD5.hash(bytes).hexadecimal).jpg")
        try Data(bytes).write(to: file)
        return (
            file,
            PhotoDescriptor(
                sha256: SHA256.hash(bytes), md5: MD5.hash(bytes), byteCount: Int64(bytes.count), format: "jpg")
        )
    }

    /// A photo that was stored and proven.
    func stored(_ content: String) async throws -> (file: URL, photo: PhotoDescriptor) {
        var (file, photo) = try photo(content)
        try await tier.put(file, photo, progress: nil)
        photo.provenTag = try #require(try await tier.verify(photo, file: nil)).tag
        return (file, photo)
    }

    /// What is left in the folder besides the photos.
    var leftovers: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).filter { !$0.hasSuffix(".jpg") }
    }
}

/// The code that something fails with; `nil` when it does not.
func code(_ body: () async throws -> Void) async -> CloakroomError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CloakroomError)?.code ?? .unknown
    }
}

import CloakroomCrypto
import CloakroomKit
import CloakroomScriptedTier
import CloakroomTiers
import Foundation

/// A store on a folder of its own, in front of a scripted cold tier, with clocks that a test moves.
final class StoreFixture {
    let folder: URL
    let files: URL
    let remote: ScriptedStore
    let tier: ScriptedTier
    let clock: TestClock
    let conditions = ScriptedConditions()
    let thumbnailer: ScriptedThumbnailer
    private let policy: RetentionPolicy
    private(set) var store: TieredPhotoStore
    /// What was added, by name.
    private(set) var bytes: [String: Data] = [:]

    /// - Parameters:
    ///   - remote: shared by several devices of one user.
    ///   - clock: the device's; `nil` for the store's.
    init(
        _ policy: RetentionPolicy = RetentionPolicy(), remote: ScriptedStore? = nil, device: String = "device",
        clock: TestClock? = nil, thumbnailer: ScriptedThumbnailer = ScriptedThumbnailer(),
        gate: @escaping TierGate = { _, _ in }
    ) throws {
        let clock = clock ?? remote?.clock ?? TestClock()
        let remote = remote ?? ScriptedStore(clock: clock)
        let tier = ScriptedTier(remote, device: device, gate: gate)
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("cloakroom-tiers-\(UUID().uuidString)")
        folder = root.appendingPathComponent("store", isDirectory: true)
        files = root.appendingPathComponent("files", isDirectory: true)
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        (self.clock, self.remote, self.tier, self.policy, self.thumbnailer) = (clock, remote, tier, policy, thumbnailer)
        store = try TieredPhotoStore(
            folder: folder, tier: tier, thumbnailer: thumbnailer, policy: policy, conditions: conditions,
            clock: { clock.now })
    }

    deinit { try? FileManager.default.removeItem(at: folder.deletingLastPathComponent()) }

    /// Ends the store and begins another one on its folder, as another launch of the app does.
    func relaunch() async throws { _ = try await reopened(conditions) }

    /// The same with other conditions.
    func reopened(_ conditions: some RunConditions) async throws -> TieredPhotoStore {
        try await store.releaseLock()
        let clock = clock
        store = try TieredPhotoStore(
            folder: folder, tier: tier, thumbnailer: thumbnailer, policy: policy, conditions: conditions,
            clock: { clock.now })
        return store
    }

    /// Bytes that no other name has.
    static func bytes(_ name: String, count: Int = 3000) -> Data {
        var bytes: [UInt8] = []
        var block = SHA256.hash(Array(name.utf8))
        while bytes.count < count {
            bytes += block
            block = SHA256.hash(block)
        }
        return Data(bytes.prefix(count))
    }

    func write(_ name: String, _ data: Data) throws -> URL {
        let file = files.appendingPathComponent(name)
        try data.write(to: file)
        return file
    }

    @discardableResult
    func add(_ name: String, _ data: Data? = nil) async throws -> PhotoID {
        let data = data ?? Self.bytes(name)
        bytes[name] = data
        return try await store.add(write(name, data), name: name, takenAt: clock.now)
    }

    /// Adds photos, and has them old enough to leave.
    func addOld(_ names: String..., days: Double = 31) async throws -> [PhotoID] {
        var ids: [PhotoID] = []
        for name in names { ids.append(try await add(name)) }
        clock.pass(days: days)
        return ids
    }

    func place(of id: PhotoID) async throws -> PhotoPlace? {
        try await store.thumbnails(limit: 10_000).first { $0.id == id }?.place
    }

    /// The bytes that the store gives for a photo.
    func read(_ id: PhotoID) async throws -> Data {
        let file = try await store.open(id)
        defer { file.close() }
        return try Data(contentsOf: file.url)
    }

    /// The files of photos on the device.
    var photoFiles: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("photos").path))?.sorted()
            ?? []
    }

    func photoFile(_ data: Data, format: String = "dat") -> URL {
        folder.appendingPathComponent("photos/\(SHA256.hash(data).hexadecimal).\(format)")
    }
}

extension CloakroomError {
    /// The code of what a body throws; `nil` when it throws nothing.
    static func code(_ body: () async throws -> Void) async -> Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? CloakroomError)?.code ?? .unknown
        }
    }
}

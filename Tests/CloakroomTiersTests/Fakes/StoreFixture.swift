import CloakroomCrypto
import CloakroomKit
import CloakroomKitTestSupport
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
    private let root: URL
    private let policy: RetentionPolicy
    private let step: @Sendable (TierStep) -> Void
    private(set) var store: TieredPhotoStore
    /// What was added, by name.
    private(set) var bytes: [String: Data] = [:]

    /// - Parameters:
    ///   - remote: shared by several devices of one user.
    ///   - clock: the device's; `nil` for the store's.
    ///   - disk: where the store's folder is made; `nil` beside the files.
    ///   - step: of the store, with each that begins by ``relaunch()``.
    init(
        _ policy: RetentionPolicy = RetentionPolicy(), remote: ScriptedStore? = nil, device: String = "device",
        clock: TestClock? = nil, in disk: URL? = nil, thumbnailer: ScriptedThumbnailer = ScriptedThumbnailer(),
        gate: @escaping TierGate = { _, _ in }, step: @escaping @Sendable (TierStep) -> Void = { _ in }
    ) throws {
        let clock = clock ?? remote?.clock ?? TestClock()
        let remote = remote ?? ScriptedStore(clock: clock)
        let tier = ScriptedTier(remote, device: device, gate: gate)
        root = FileManager.default.temporaryDirectory.appendingPathComponent("cloakroom-tiers-\(UUID().uuidString)")
        folder = (disk ?? root).appendingPathComponent("store", isDirectory: true)
        files = root.appendingPathComponent("files", isDirectory: true)
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        (self.clock, self.remote, self.tier, self.policy, self.thumbnailer) = (clock, remote, tier, policy, thumbnailer)
        self.step = step
        store = try TieredPhotoStore(
            folder: folder, tier: tier, thumbnailer: thumbnailer, policy: policy, conditions: conditions,
            clock: { clock.now }, step: step)
    }

    deinit { try? FileManager.default.removeItem(at: root) }

    /// Ends the store and begins another one on its folder, as another launch of the app does.
    func relaunch() async throws { _ = try await reopened(conditions) }

    /// The same with other conditions.
    func reopened(_ conditions: some RunConditions) async throws -> TieredPhotoStore {
        try await store.releaseLock()
        let clock = clock
        store = try TieredPhotoStore(
            folder: folder, tier: tier, thumbnailer: thumbnailer, policy: policy, conditions: conditions,
            clock: { clock.now }, step: step)
        return store
    }

    /// The same with another observer of its steps.
    func reopened(step: @escaping @Sendable (TierStep) -> Void) async throws -> TieredPhotoStore {
        try await store.releaseLock()
        let clock = clock
        store = try TieredPhotoStore(
            folder: folder, tier: tier, thumbnailer: thumbnailer, policy: policy, conditions: conditions,
            clock: { clock.now }, step: step)
        return store
    }

    /// A store on the same folder, as another process of the app has it, in front of the same cold tier.
    ///
    /// - Parameter policy: `nil` for the same.
    func secondProcess(_ policy: RetentionPolicy? = nil) throws -> TieredPhotoStore {
        let clock = clock
        return try TieredPhotoStore(
            folder: folder, tier: ScriptedTier(remote, device: "second process"), thumbnailer: thumbnailer,
            policy: policy ?? self.policy, conditions: conditions, clock: { clock.now })
    }

    /// Has a copy of another folder in the place of this one, as a phone that is restored from a backup, and launches.
    ///
    /// - Parameter change: what happens to the copy before it is used.
    func restore(from backup: URL, _ change: (URL) throws -> Void = { _ in }) async throws {
        try await store.releaseLock()
        try FileManager.default.removeItem(at: folder)
        try FileManager.default.copyItem(at: backup, to: folder)
        try change(folder)
        try await relaunch()
    }

    /// Has the catalog be no database any more, and launches.
    func destroyCatalog() async throws {
        try await store.releaseLock()
        let catalog = folder.appendingPathComponent("catalog.sqlite")
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: catalog.path + suffix) }
        try Data(repeating: 7, count: 40_000).write(to: catalog)
        try await relaunch()
    }

    /// Has there be no catalog any more, and launches.
    ///
    /// - Parameter change: what else happens to the folder.
    func loseCatalog(_ change: (URL) throws -> Void = { _ in }) async throws {
        try await store.releaseLock()
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(at: folder.appendingPathComponent("catalog.sqlite\(suffix)"))
        }
        try change(folder)
        try await relaunch()
    }

    /// Has the photos be those of the account that is signed in, as a user who has confirmed it.
    func acceptAccount() async throws {
        guard let change = try await store.accountChange() else { return }
        try await store.acceptAccount(change.account)
    }

    /// A run on each of so many days to come.
    @discardableResult
    func runDaily(_ days: Int) async -> [TieringReport] {
        var reports: [TieringReport] = []
        for _ in 0..<days {
            clock.pass(days: 1.01)
            reports.append(await store.run())
        }
        return reports
    }

    /// Bytes that no other name has.
    static func bytes(_ name: String, count: Int = 3000) -> Data { .named(name, count: count) }

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

    /// Under which the cold tier has the photo of a name.
    static func key(_ name: String) -> String { MD5.hash(bytes(name)).hexadecimal }

    /// Whether the cold tier has the photo of a name.
    func isStored(_ name: String) -> Bool { remote.account().objects[Self.key(name)]?.bytes == bytes[name] }

    /// The bytes that the store gives for the photo of a name.
    func read(_ name: String) async throws -> Data {
        guard let id = try await store.photo(named: name) else {
            throw CloakroomError(.noSuchPhoto, "there is no photo \(name)")
        }
        return try await read(id)
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

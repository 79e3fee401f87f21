import CloakroomCrypto
import CloakroomKit
@testable import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

/// Faults of the device and of the account.
@Suite(.serialized) struct FaultTests {
    @Test func `a catalog that is damaged is moved aside and made anew, and no photo is lost`() async throws {
        let device = try StoreFixture()
        let old = try await device.addOld("old")[0]
        try await device.add("young")
        _ = await device.store.run()
        #expect(try await device.place(of: old) == .cold)
        try await device.store.releaseLock()
        let catalog = device.folder.appendingPathComponent("catalog.sqlite")
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: catalog.path + suffix) }
        try Data(repeating: 7, count: 8192).write(to: catalog)
        try await device.relaunch()
        // Until it is made anew.
        #expect(try await device.store.thumbnails().isEmpty)
        device.tier.script.add(.failBefore(.scriptedOutage), on: .list)
        #expect(await device.store.run().stoppedBy?.code == .unreachable)
        #expect(await device.store.run().stoppedBy == nil)
        for name in ["old", "young"] {
            let id = try #require(try await device.store.photo(named: name))
            #expect(try await device.read(id) == device.bytes[name])
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: device.folder.path)
        #expect(names.contains { $0.hasPrefix("catalog.sqlite.corrupt-") })
    }

    @Test(arguments: [
        CloakroomError.Code.userDisabled, .subscriptionRequired, .storageQuotaExceeded, .unauthorized,
    ])
    func `an account that may not store ends the run before anything is sent`(code: CloakroomError.Code) async throws {
        let device = try StoreFixture()
        let id = try await device.addOld("a")[0]
        device.tier.setUnavailable(CloakroomError(code, "the account may not"))
        let report = await device.store.run()
        #expect(report.stoppedBy?.code == code)
        #expect(device.remote.requests(.put) == 0)
        #expect(try await device.read(id) == device.bytes["a"])
    }

    @Test func `credentials that cannot read prove nothing, and the photo stays`() async throws {
        let device = try StoreFixture()
        let id = try await device.addOld("a")[0]
        device.tier.script.add(.failBefore(CloakroomError(.accessDenied, "no right to read")), on: .verify)
        let report = await device.store.run()
        #expect(report.evicted == 0)
        #expect(report.stoppedBy?.code == .accessDenied)
        #expect(try await device.place(of: id) == .device)
        #expect(device.photoFiles.count == 1)
    }

    @Test(.enabled(if: SmallDisk.isPossible))
    func `a full disk leaves nothing half: what was there is there, and what was not is not`() async throws {
        let disk = try SmallDisk()
        defer { disk.unmount() }
        let clock = TestClock()
        let remote = ScriptedStore(clock: clock)
        let store = try TieredPhotoStore(
            folder: disk.url.appendingPathComponent("store"), tier: ScriptedTier(remote),
            thumbnailer: ScriptedThumbnailer(), policy: RetentionPolicy(), conditions: UnrestrictedConditions(),
            clock: { clock.now })
        let files = FileManager.default.temporaryDirectory.appendingPathComponent("cloakroom-full-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: files) }
        func write(_ name: String) throws -> URL {
            let file = files.appendingPathComponent(name)
            try StoreFixture.bytes(name, count: 100_000).write(to: file)
            return file
        }
        let first = try await store.add(write("first"), name: "first", takenAt: clock.now)
        clock.pass(days: 31)
        #expect(await store.run().evicted == 1)
        // An import.
        try disk.fill()
        let late = try write("late")
        #expect(await CloakroomError.code { try await store.add(late, name: "late", takenAt: clock.now) } == .diskFull)
        #expect(try await store.photo(named: "late") == nil)
        // A fetch.
        #expect(await CloakroomError.code { _ = try await store.open(first) } != nil)
        #expect(try await store.thumbnails().first?.place == .cold)
        // A restore of everything.
        #expect(await store.restoreAll().stoppedBy?.code == .diskFull)
        try disk.empty()
        #expect(try Data(contentsOf: await store.open(first).url) == StoreFixture.bytes("first", count: 100_000))
        try await store.add(late, name: "late", takenAt: clock.now)
        #expect(try await store.thumbnails().count == 2)
    }

    @Test func `two devices share photos, and one that removes them deletes only what the other does not have`()
        async throws
    {
        let first = try StoreFixture(device: "first")
        let second = try StoreFixture(remote: first.remote, device: "second")
        try await first.add("shared", Data("shared bytes".utf8))
        try await first.add("own", Data("own bytes".utf8))
        let shared = try await second.add("shared", Data("shared bytes".utf8))
        first.clock.pass(days: 31)
        #expect(await first.store.run().evicted == 2)
        #expect(await second.store.run().evicted == 1)
        try await first.store.remove(name: "shared")
        try await first.store.remove(name: "own")
        #expect(await first.store.run().deleted == 0)
        first.clock.pass(days: 1.9)
        #expect(await first.store.run().deleted == 0)
        first.clock.pass(days: 0.2)
        #expect(await first.store.run().deleted == 1)
        #expect(first.remote.account().objects.count == 1)
        #expect(first.remote.account().thumbnails.count == 1)
        #expect(try await second.read(shared) == Data("shared bytes".utf8))
        _ = await first.store.run()
        #expect(first.remote.account().documents.keys.allSatisfy { !$0.hasPrefix("intent") })
    }

    @Test func `a device that was lost is made anew from the cold tier, byte for byte`() async throws {
        let first = try StoreFixture(device: "first")
        for number in 0..<25 { try await first.add("photo\(number)") }
        first.clock.pass(days: 31)
        #expect(await first.store.run().evicted == 25)
        let second = try StoreFixture(remote: first.remote, device: "second")
        let report = try await second.store.rebuildCatalog()
        #expect(report.photos == 25)
        for (name, bytes) in first.bytes {
            let id = try #require(try await second.store.photo(named: name))
            #expect(try await second.store.thumbnail(of: id) == ScriptedThumbnailer.thumbnail(of: bytes).bytes)
            #expect(try await second.read(id) == bytes)
        }
    }
}

/// A file system of a megabyte, where the system lets us have one: Linux, for root.
private struct SmallDisk {
    let url: URL

    static let isPossible: Bool = {
        guard let disk = try? SmallDisk() else { return false }
        disk.unmount()
        return true
    }()

    private struct DiskError: Error {}

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("cloakroom-disk-\(UUID().uuidString)")
        #if os(Linux)
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            guard geteuid() == 0, Self.run("/bin/mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", url.path])
            else { throw DiskError() }
        #else
            throw DiskError()
        #endif
    }

    private var ballast: URL { url.appendingPathComponent("ballast") }

    /// Leaves room for the catalog's log, and none for a photo.
    func fill() throws {
        var status = statvfs()
        guard statvfs(url.path, &status) == 0 else { throw DiskError() }
        let free = Int(status.f_bavail) * Int(status.f_frsize)
        try Data(count: max(0, free - 65_536)).write(to: ballast)
    }

    func empty() throws { try FileManager.default.removeItem(at: ballast) }

    func unmount() {
        _ = Self.run("/bin/umount", [url.path])
        try? FileManager.default.removeItem(at: url)
    }

    private static func run(_ path: String, _ arguments: [String]) -> Bool {
        #if os(Linux) || os(macOS)
            let process = Process()
            process.executableURL = URL(fileURLWithPath: path)
            process.arguments = arguments
            process.standardError = FileHandle.nullDevice
            guard (try? process.run()) != nil else { return false }
            process.waitUntilExit()
            return process.terminationStatus == 0
        #else
            return false
        #endif
    }
}

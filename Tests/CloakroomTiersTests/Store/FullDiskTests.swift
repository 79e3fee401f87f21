import CloakroomKit
import CloakroomKitTestSupport
import CloakroomScriptedTier
import Foundation
import Synchronization
import Testing

@testable import CloakroomTiers

/// A disk that is full, or is about to be.
@Suite(.serialized, .enabled(if: SmallDisk.isPossible)) struct FullDiskTests {
    @Test func `a full disk leaves nothing half: what was there is there, and what was not is not`() async throws {
        let disk = try SmallDisk(byteCount: 1 << 20)
        defer { disk.unmount() }
        let device = try StoreFixture(in: disk.url)
        let photo = StoreFixture.bytes("a", count: 100_000)
        let first = try await device.add("first", photo)
        device.clock.pass(days: 31)
        #expect(await device.store.run().evicted == 1)
        // Room for the catalog's log, and none for a photo.
        try disk.fill(leaving: 65_536)
        let late = StoreFixture.bytes("late", count: 100_000)
        #expect(await CloakroomError.code { try await device.add("late", late) } == .diskFull)
        #expect(try await device.store.photo(named: "late") == nil)
        #expect(await CloakroomError.code { _ = try await device.store.open(first) } != nil)
        #expect(try await device.place(of: first) == .cold)
        #expect(await device.store.restoreAll().stoppedBy?.code == .diskFull)
        try disk.empty()
        #expect(try await device.read(first) == photo)
        try await device.add("late", late)
        #expect(try await device.store.thumbnails().count == 2)
    }

    @Test func `a file of the store that does not fit is told as a full disk`() async throws {
        let disk = try SmallDisk(byteCount: 1 << 20)
        defer { disk.unmount() }
        try disk.fill()
        let file = disk.url.appendingPathComponent("identity")
        #expect(await CloakroomError.code { try StoreFolder.write(Data(count: 100_000), to: file) } == .diskFull)
    }

    /// As a process has it that was being started while the file was open.
    @Test func `a copy that does not fit takes no room, also while it is open elsewhere`() async throws {
        let disk = try SmallDisk(byteCount: 8 << 20)
        defer { disk.unmount() }
        let photo = FileManager.default.temporaryDirectory.appendingPathComponent("cloakroom-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: photo) }
        try Data(count: 64 << 20).write(to: photo)
        let copy = disk.url.appendingPathComponent("copy")
        // A thread of its own: the tests' threads may all be busy until the copy is gone.
        let isOver = Mutex(false)
        let held = Mutex<Int32>(-1)
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            while held.withLock({ $0 }) < 0, !isOver.withLock({ $0 }) {
                held.withLock { $0 = open(copy.path, O_RDONLY | O_CLOEXEC) }
            }
            ended.signal()
        }
        for _ in 1...100 where held.withLock({ $0 }) < 0 {
            #expect(
                await CloakroomError.code { _ = try await PhotoContent(of: photo, copiedTo: copy) } == .diskFull)
        }
        isOver.withLock { $0 = true }
        ended.wait()
        let descriptor = held.withLock { $0 }
        defer { close(descriptor) }
        try #require(descriptor >= 0, "the copy was gone before it was opened, a hundred times")
        #expect(try disk.freeBytes > 7 << 20)
    }

    @Test func `room is made also while the inbox does not fit on the disk`() async throws {
        let disk = try SmallDisk(byteCount: 12 << 20)
        defer { disk.unmount() }
        let device = try StoreFixture(in: disk.url)
        try await device.add("old", StoreFixture.bytes("old", count: 5 << 20))
        #expect(await device.store.run().uploaded == 1)
        device.clock.pass(days: 31)
        let left = StoreFixture.bytes("left", count: 4 << 20)
        try await TieredPhotoStore.leave(
            try device.write("left", left), name: "left", takenAt: device.clock.now, inInboxOf: device.folder)
        let first = await device.store.run()
        #expect(first.inboxFailure?.code == .diskFull)
        #expect(first.evicted == 1)
        let second = await device.store.run()
        #expect(second.inboxFailure == nil)
        #expect(second.uploaded == 1)
        #expect(try await device.read("left") == left)
    }

    // MARK: Moving an older store

    /// What a migration leaves free.
    private static let reserve = 64 << 20

    private func expectAll(_ all: [String: Data], in device: StoreFixture) async throws {
        for (name, bytes) in all { #expect(try await device.read(name) == bytes) }
        #expect(try await device.store.thumbnails(limit: 1000).count == all.count)
    }

    @Test func `a migration stops before the disk is full, and goes on when there is room`() async throws {
        let disk = try SmallDisk(byteCount: 72 << 20)
        defer { disk.unmount() }
        let device = try StoreFixture(in: disk.url)
        let table = try LegacyTable()
        let now = device.clock.now
        // Every other one may leave the device.
        let all = try table.insert(40, byteCount: 200_000) { now - ($0 % 2 == 0 ? 60 : 1) * 86_400 }
        try disk.fill(leaving: Self.reserve + 2 << 20)
        let report = try await device.store.migrate(from: try BlobTableSource(table.file))
        #expect(report.stoppedBy?.code == .diskFull)
        #expect(report.imported > 0 && report.evicted > 0)
        #expect(report.remaining == 40 - report.imported)
        #expect(try table.names.count == report.remaining)
        #expect(try disk.freeBytes > Self.reserve - 1 << 20)
        try disk.empty()
        let rest = try await device.store.migrate(from: try BlobTableSource(table.file))
        #expect(rest.stoppedBy == nil)
        #expect(rest.remaining == 0)
        try await expectAll(all, in: device)
    }

    /// - Parameter isRecorded: whether the photo that is being moved then is in the catalog already.
    @Test(arguments: [false, true])
    func `a disk that somebody else fills during a migration loses nothing`(isRecorded: Bool) async throws {
        let disk = try SmallDisk(byteCount: 72 << 20)
        defer { disk.unmount() }
        let count = Mutex(0)
        let fill: @Sendable () -> Void = {
            let isNow = count.withLock { count in
                count += 1
                return count == 7
            }
            if isNow { try? disk.fill() }
        }
        let device = try StoreFixture(
            in: disk.url, thumbnailer: ScriptedThumbnailer { _ in if !isRecorded { fill() } },
            step: { step in if isRecorded, step == .imported { fill() } })
        let table = try LegacyTable()
        let now = device.clock.now
        let all = try table.insert(20, byteCount: 50_000) { now - ($0 % 2 == 0 ? 60 : 1) * 86_400 }
        let report = try await device.store.migrate(from: try BlobTableSource(table.file))
        #expect(report.stoppedBy?.code == .diskFull)
        #expect(report.remaining >= 13)
        try disk.empty()
        for (name, bytes) in all where try table.bytes(name) != bytes {
            #expect(try await device.read(name) == bytes)
        }
        try await device.relaunch()
        let rest = try await device.store.migrate(from: try BlobTableSource(table.file))
        #expect(rest.stoppedBy == nil)
        #expect(rest.remaining == 0)
        try await expectAll(all, in: device)
    }
}

import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// A queue that was there before the disk was full, opened by a later launch.
@Suite(.timeLimit(.minutes(2)), .enabled(if: SmallDisk.isPossible), .serialized) struct OutboxFullDiskTests {
    private let bench: OutboxFixture

    init() throws { bench = try OutboxFixture() }

    private func outbox() throws -> Outbox {
        var options = Outbox.Options()
        options.largestPut = 1 << 20
        return try bench.outbox(options: options)
    }

    private func disk() throws -> SmallDisk { try SmallDisk(byteCount: 24 << 20, at: bench.root) }

    private var reserve: URL { bench.own.appendingPathComponent("reserve") }

    private static func text(_ number: Int, size: Int) -> String {
        "\(number)".padding(toLength: size, withPad: "x", startingAt: 0)
    }

    /// Adds items, and has a run that sends nothing make the reserve.
    private func add(_ count: Int, _ add: (Outbox, Int) async throws -> Void) async throws {
        let outbox = try outbox()
        for number in 0..<count { try await add(outbox, number) }
        try await outbox.pause()
        await outbox.run()
        try await outbox.resume()
        try await outbox.signOut(.keepingUnsent)
    }

    private func addPhotos(_ count: Int, size: Int) async throws {
        try await add(count) { outbox, number in
            try await outbox.add(photo: try bench.photo(Self.text(number, size: size)))
        }
    }

    /// Those of chats and screens leave less room than SQLite's usual log takes.
    @Test(arguments: [8, 12_000]) func `small photos leave a full disk after a relaunch`(size: Int) async throws {
        let disk = try disk()
        defer { disk.unmount() }
        try await addPhotos(300, size: size)
        try disk.fill()
        let report = await (try outbox()).run()
        #expect(report.sent == 300 && report.isComplete && report.stoppedBy == nil)
        #expect(try bench.files() == [])
    }

    @Test(arguments: [(200, 4), (60, 100_000)])
    func `assets leave a full disk as they are acknowledged`(count: Int, size: Int) async throws {
        let disk = try disk()
        defer { disk.unmount() }
        try await add(count) { outbox, number in
            try await outbox.add(asset: UploadContent(Self.text(number, size: size)), reference: "\(number)")
        }
        try disk.fill()
        let outbox = try outbox()
        #expect(await outbox.run().sent == count)
        for asset in try await outbox.uploadedAssets() { try await outbox.acknowledge(asset.id) }
        #expect(try await outbox.items() == [])
        #expect(try bench.files() == [])
    }

    /// The rest is not for what else fills the disk.
    @Test func `the reserve is given back in pieces, and made whole where there is room`() async throws {
        let disk = try disk()
        defer { disk.unmount() }
        let reserve = DiskReserve(url: disk.url.appendingPathComponent("reserve"))
        await reserve.fill()
        try disk.fill()
        var needed = 3
        try reserve.lent { () throws(CloakroomError) in
            needed -= 1
            if needed > 0 { throw CloakroomError(.diskFull, "no") }
        }
        #expect(try disk.freeBytes == 2 * DiskReserve.pieceByteCount)
        try disk.fill()
        await reserve.fill()
        #expect(try disk.freeBytes == 0)
        #expect(throws: CloakroomError.self) {
            try reserve.lent { () throws(CloakroomError) in throw CloakroomError(.diskFull, "no") }
        }
        #expect(try disk.freeBytes == DiskReserve.byteCount - 2 * DiskReserve.pieceByteCount)
        try disk.empty()
        let free = try disk.freeBytes
        await reserve.fill()
        #expect(try disk.freeBytes == free - DiskReserve.byteCount)
    }

    @Test func `a sign-out discards on a full disk, also without a reserve`() async throws {
        let disk = try disk()
        defer { disk.unmount() }
        try await addPhotos(200, size: 8)
        try disk.fill()
        let outbox = try outbox()
        try? FileManager.default.removeItem(at: reserve)
        try disk.fill()
        #expect(try await outbox.signOut(.discardingUnsent).removed.count == 200)
        #expect(try bench.files() == [])
    }

    /// As after a kill: the log has not been written back, and there is no reserve.
    @Test func `a log that an earlier process left makes room on a full disk`() async throws {
        let disk = try disk()
        defer { disk.unmount() }
        try await addPhotos(50, size: 8)
        let earlier = try outbox()
        for _ in 0..<4 {
            try await earlier.pause()
            try await earlier.resume()
        }
        try await earlier.signOut(.keepingUnsent)
        try FileManager.default.removeItem(at: reserve)
        try disk.fill()
        #expect(await (try outbox()).run().isComplete)
        withExtendedLifetime(earlier) {}
    }
}

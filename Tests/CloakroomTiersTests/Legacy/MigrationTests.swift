import CloakroomKit
import CloakroomScriptedTier
import CloakroomSQLite
import CloakroomTiers
import Foundation
import Testing

@Suite(.serialized) struct MigrationTests {
    private let fixture: StoreFixture
    private let table: LegacyTable

    init() throws {
        fixture = try StoreFixture()
        table = try LegacyTable()
    }

    private func daysAgo(_ days: Double) -> Date { fixture.clock.now - days * 86_400 }

    private func migrate(batchBytes: Int64 = 32 << 20) async throws -> MigrationReport {
        try await fixture.store.migrate(from: try BlobTableSource(table.file), batchBytes: batchBytes)
    }

    @Test func `all photos are in the store, exactly, under their names and with their age`() async throws {
        // Every third one is old.
        let all = try table.insert(30, byteCount: 5000) { daysAgo($0 % 3 == 0 ? 40 + Double($0) : 2) }
        let seen = Seen()
        let report = try await fixture.store.migrate(from: try BlobTableSource(table.file)) { seen.add($0, $1) }
        #expect(report.imported == 30)
        #expect(report.importedBytes == 150_000)
        #expect(report.evicted == 10)
        #expect(report.remaining == 0)
        #expect(report.failures == [])
        #expect(report.stoppedBy == nil)
        #expect(!report.isCompactionPending)
        #expect(seen.last?.done == 30 && seen.last?.total == 30)
        #expect(fixture.photoFiles.count == 20)
        for (name, bytes) in all {
            let id = try #require(try await fixture.store.photo(named: name))
            let number = try #require(Int(name.dropFirst(6)))
            #expect(try await fixture.place(of: id) == (number % 3 == 0 ? .cold : .both))
            #expect(try await fixture.read(id) == bytes)
        }
        let timeline = try await fixture.store.thumbnails(limit: 100)
        #expect(timeline.last?.takenAt == daysAgo(67))
        #expect(try table.names == [])
    }

    @Test func `a second call has nothing to do and sends no request`() async throws {
        _ = try table.insert(3, byteCount: 500) { _ in daysAgo(40) }
        _ = try await migrate()
        let requests = fixture.remote.requestCount
        #expect(try await migrate() == MigrationReport())
        #expect(fixture.remote.requestCount == requests)
    }

    @Test func `rows of equal bytes are one photo with several names`() async throws {
        let bytes = StoreFixture.bytes("same")
        for name in ["cid", "CID", "other"] { try table.insert(name, bytes, daysAgo(1)) }
        #expect(try await migrate().imported == 3)
        let ids = try await ["cid", "CID", "other"].asyncMap { try await fixture.store.photo(named: $0) }
        #expect(Set(ids).count == 1 && ids[0] != nil)
        #expect(fixture.photoFiles.count == 1)
    }

    @Test func `a row whose name is another photo's stays, and so does one without bytes or name`() async throws {
        try await fixture.add("taken")
        try table.insert("taken", Data("other bytes".utf8), daysAgo(40))
        try table.insert("empty", .blob([]), .null)
        try table.insert(.null, .blob([1, 2]), .null)
        try table.insert("good", StoreFixture.bytes("good"), daysAgo(40))
        let report = try await migrate()
        #expect(report.imported == 1)
        #expect(report.remaining == 3)
        #expect(report.failureCount == 3)
        #expect(report.failures.map(\.name) == ["taken", "empty", nil])
        #expect(report.failures.map(\.error.code) == [.nameTaken, .unreadableFile, .unreadableFile])
        #expect(report.stoppedBy == nil)
        #expect(try table.bytes("taken") == Data("other bytes".utf8))
    }

    @Test func `what is no picture is moved exactly, and stays on the device`() async throws {
        let broken = ScriptedThumbnailer.noPicture + Data([0, 255, 7])
        try table.insert("broken", broken, daysAgo(400))
        let report = try await migrate()
        #expect(report.imported == 1)
        let id = try #require(try await fixture.store.photo(named: "broken"))
        #expect(try Data(contentsOf: fixture.photoFile(broken)) == broken)
        #expect(try await fixture.place(of: id) != .cold)
    }

    @Test func `a date to come is today`() async throws {
        try table.insert("future", StoreFixture.bytes("future"), daysAgo(-1000))
        try table.insert("none", .blob(Array(StoreFixture.bytes("none"))), .null)
        _ = try await migrate()
        let items = try await fixture.store.thumbnails(limit: 10)
        #expect(items.map(\.takenAt) == [fixture.clock.now, fixture.clock.now])
        fixture.clock.pass(days: 31)
        #expect(await fixture.store.run().evicted == 2)
    }

    // MARK: What stops it

    @Test func `where the conditions refuse it stops after one batch, and goes on when they allow`() async throws {
        let all = try table.insert(40, byteCount: 10_000) { _ in daysAgo(40) }
        fixture.conditions.set(DeviceConditions(hasExternalPower: false))
        let report = try await migrate(batchBytes: 50_000)
        #expect(report.stoppedBy?.code == .notAllowedNow)
        #expect(report.isCompactionPending)
        #expect(report.imported == 5)
        #expect(report.remaining == 35)
        #expect(fixture.photoFiles.count == 5)
        fixture.conditions.set(DeviceConditions())
        #expect(try await migrate(batchBytes: 50_000).remaining == 0)
        #expect(fixture.photoFiles == [])
        try await expectAll(all)
    }

    @Test func `young photos are moved also while nothing may be transferred`() async throws {
        _ = try table.insert(20, byteCount: 10_000) { _ in daysAgo(3) }
        fixture.conditions.set(DeviceConditions(network: .none))
        let report = try await migrate(batchBytes: 50_000)
        #expect(report.stoppedBy == nil)
        #expect(report.imported == 20)
    }

    @Test(arguments: [CloakroomError.Code.storageQuotaExceeded, .unreachable, .userDisabled])
    func `what the cold tier says stops it`(code: CloakroomError.Code) async throws {
        _ = try table.insert(40, byteCount: 10_000) { _ in daysAgo(40) }
        fixture.tier.setUnavailable(CloakroomError(code, "no"))
        let report = try await migrate(batchBytes: 50_000)
        #expect(report.stoppedBy?.code == code)
        #expect(report.remaining == 35)
    }

    @Test func `photos that can all not leave stop it after one batch`() async throws {
        for number in 0..<40 {
            let bytes = ScriptedThumbnailer.noPicture + StoreFixture.bytes("\(number)", count: 10_000)
            try table.insert("p\(number)", bytes, daysAgo(40))
        }
        let report = try await migrate(batchBytes: 50_000)
        #expect(report.stoppedBy != nil)
        #expect(report.remaining >= 34)
    }

    @Test func `single photos that cannot leave do not`() async throws {
        for number in 0..<40 {
            let bytes = StoreFixture.bytes("\(number)", count: 10_000)
            let isPicture = number % 8 != 0
            try table.insert("p\(number)", isPicture ? bytes : ScriptedThumbnailer.noPicture + bytes, daysAgo(40))
        }
        let report = try await migrate(batchBytes: 50_000)
        #expect(report.stoppedBy == nil)
        #expect(report.evicted == 35)
        #expect(fixture.photoFiles.count == 5)
    }

    @Test func `a call that is cancelled stops between two rows`() async throws {
        let all = try table.insert(40, byteCount: 10_000) { _ in daysAgo(2) }
        let source = try BlobTableSource(table.file)
        let store = fixture.store
        let task = Task {
            try await store.migrate(from: source) { done, _ in
                if done == 7 { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        let report = try await task.value
        #expect(report.stoppedBy?.code == .cancelled)
        #expect(report.imported == 7)
        #expect(report.remaining == 33)
        _ = try await migrate()
        try await expectAll(all)
    }

    // MARK: Failures at each step

    @Test(arguments: FailingSource.Step.allCases, [1, 2, 5])
    func `a failure at any step loses nothing, and the next call goes on`(
        step: FailingSource.Step, call: Int
    ) async throws {
        let all = try table.insert(24, byteCount: 3000) { daysAgo($0 % 2 == 0 ? 40 : 2) }
        let source = FailingSource(try BlobTableSource(table.file), step, atCall: call)
        let report = try? await fixture.store.migrate(from: source, batchBytes: 9000)
        let wasReached = await source.hasFailed
        if wasReached { #expect(report?.stoppedBy?.code == .storeFailed || report == nil) }
        // Each photo is in the table, or in the store.
        for (name, bytes) in all {
            if try table.bytes(name) == bytes { continue }
            let id = try #require(try await fixture.store.photo(named: name))
            #expect(try await fixture.read(id) == bytes)
        }
        try await fixture.relaunch()
        let second = try await migrate(batchBytes: 9000)
        #expect(second.stoppedBy == nil)
        #expect(second.remaining == 0)
        #expect(!second.isCompactionPending)
        try await expectAll(all)
        #expect(try incoming == [])
    }

    @Test func `a photo that left the device before its row was removed leaves it again`() async throws {
        let all = try table.insert(3, byteCount: 3000) { _ in daysAgo(40) }
        // As after a kill between the two: the rows are there once more.
        _ = try await migrate()
        for (name, bytes) in all { try table.insert(name, bytes, daysAgo(40)) }
        let report = try await migrate()
        #expect(report.remaining == 0)
        #expect(fixture.photoFiles == [])
        try await expectAll(all)
    }

    @Test func `without room for compacting it stays pending, and the next call does it`() async throws {
        _ = try table.insert(20, byteCount: 50_000) { _ in daysAgo(40) }
        let before = LegacyTable.allocatedBytes(in: table.folder)
        let cramped = try BlobTableSource(table.file, freeBytes: { _ in 0 })
        let report = try await fixture.store.migrate(from: cramped)
        #expect(report.stoppedBy == nil)
        #expect(report.isCompactionPending)
        #expect(LegacyTable.allocatedBytes(in: table.folder) >= before)
        #expect(try await !migrate().isCompactionPending)
        #expect(LegacyTable.allocatedBytes(in: table.folder) < before / 4)
    }

    private var incoming: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: fixture.folder.appendingPathComponent("incoming").path)
        }
    }

    private func expectAll(_ all: [String: Data]) async throws {
        for (name, bytes) in all {
            let id = try #require(try await fixture.store.photo(named: name), "\(name)")
            #expect(try await fixture.read(id) == bytes)
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}

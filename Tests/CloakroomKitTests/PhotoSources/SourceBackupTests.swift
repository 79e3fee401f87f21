import CloakroomKitTestSupport
import CloakroomKitTesting
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct SourceBackupTests {
    private let bench: SourceBackupBench
    private var folder: TemporaryFolder { bench.folder }
    private var server: TestServer { bench.server }
    private var layout: PhotoLayout { bench.layout }
    private var scratch: URL { bench.scratch }

    init() throws { bench = try SourceBackupBench() }

    private func journal() throws -> SourceJournal { try bench.journal() }
    private func backup(of source: any PhotoSource) throws -> SourceBackup { try bench.backup(of: source) }
    private func key(_ content: String) -> String { bench.key(content) }

    @Test func `a source is stored whole, and then what is new in it`() async throws {
        let source = ListedSource(["a": "one", "b": "two"])
        let first = try await backup(of: source).run()
        #expect(first.backedUp == 2 && first.isComplete)
        #expect(Set(server.objects().keys) == [key("one"), key("two")])
        await source.add("c", "three")
        let second = try await backup(of: source).run()
        #expect(second.backedUp == 1 && second.isComplete)
        #expect(await source.tokens == [nil, 2])
        #expect(await source.exported == ["a", "b", "c"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
    }

    @Test func `a photo that S3 has from an earlier installation is not sent again`() async throws {
        server.store(Data("one".utf8), at: key("one"))
        let report = try await backup(of: ListedSource(["a": "one", "b": "two"])).run()
        #expect(report.backedUp == 1 && report.alreadyThere == 1)
        #expect(server.count(.putObject) == 1)
    }

    @Test func `a photo that cannot be exported is attempted again, and does not keep the others`() async throws {
        let source = ListedSource(["a": "one", "b": "two"])
        await source.fail("a", with: .unreadableFile)
        let first = try await backup(of: source).run()
        #expect(first.failures.map(\.photo.id) == ["a"] && first.backedUp == 1 && first.stoppedBy == nil)
        await source.fail("a", with: nil)
        // Asked for what came later alone: the source does not name the photo again.
        let second = try await backup(of: source).run()
        #expect(second.backedUp == 1 && second.isComplete)
        #expect(await source.tokens == [nil, 2])
        #expect(try await journal().failures() == [])
    }

    @Test func `a run that is cancelled exports no other photo`() async throws {
        let source = ListedSource(["a": "one", "b": "two"])
        let gate = Gate()
        await source.hold("a", at: gate)
        let backup = try backup(of: source)
        let run = Task { await backup.run() }
        await gate.arrival()
        run.cancel()
        #expect(await run.value.stoppedBy?.code == .cancelled)
        #expect(await source.attempted == ["a"])
    }

    @Test func `a call after the only caller was cancelled gets a run of its own`() async throws {
        let source = ListedSource(["a": "one", "b": "two"])
        let gate = Gate()
        await source.hold("a", at: gate)
        let backup = try backup(of: source)
        let first = Task { await backup.run() }
        await gate.arrival()
        first.cancel()
        async let second = backup.run()
        await gate.open()
        #expect(await second.isComplete)
        _ = await first.value
        #expect(server.objects().count == 2)
    }

    @Test func `a caller that is cancelled leaves the run to the others, and the last one ends it`() async throws {
        let source = ListedSource(["a": "one"])
        let gate = Gate()
        await source.hold("a", at: gate)
        let backup = try backup(of: source)
        let callers = (0..<3).map { _ in Task { await backup.run() } }
        await gate.arrival()
        try await until { await backup.callerCount == 3 }
        callers[0].cancel()
        // Whichever has begun it.
        #expect(await callers[0].value.stoppedBy?.code == .cancelled)
        #expect(await backup.callerCount == 2)
        for caller in callers { caller.cancel() }
        for caller in callers { #expect(await caller.value.stoppedBy?.code == .cancelled) }
        #expect(server.objects().isEmpty)
    }

    @Test func `each caller of a run is told of its progress`() async throws {
        let source = ListedSource(["a": "one"])
        let gate = Gate()
        await source.hold("a", at: gate)
        let backup = try backup(of: source)
        let logs = [Log<Int>(), Log<Int>()]
        let callers = logs.map { log in Task { await backup.run { log.append($0.backedUp) } } }
        try await until { await backup.callerCount == 2 }
        await gate.open()
        for caller in callers { #expect(await caller.value.backedUp == 1) }
        #expect(logs.map(\.all) == [[1], [1]])
    }

    @Test func `a page ends at its bytes, so that exports do not pile up`() async throws {
        let source = ListedSource(["a": "one", "b": "two", "c": "three", "d": "four", "e": "five"])
        let backup = SourceBackup(
            source: source, client: .of(server), layout: layout, journal: try journal(), folder: scratch,
            pageByteCount: 6)
        #expect(await backup.run().backedUp == 5)
        #expect(await source.filesBefore == [0, 1, 0, 1, 0])
    }

    @Test func `nothing is exported over a network that the backup may not use`() async throws {
        let source = ListedSource(["a": "one"])
        let conditions = SettableConditions(DeviceConditions())
        let backup = SourceBackup(
            source: source, client: .of(server), layout: layout, journal: try journal(), folder: scratch,
            conditions: conditions)
        #expect(await backup.run().isComplete)
        // With the token of this run nothing asks S3 before an export.
        await source.add("b", "two")
        conditions.set(DeviceConditions(network: .expensive))
        #expect(await backup.run().stoppedBy?.code == .notAllowedNow)
        #expect(await source.attempted == ["a"])
        conditions.set(DeviceConditions())
        #expect(await backup.run().backedUp == 1)
    }

    @Test func `a backup that waits for power does not blame the network`() async throws {
        let backup = SourceBackup(
            source: ListedSource(["a": "one"]), client: .of(server), layout: layout, journal: try journal(),
            folder: scratch,
            conditions: SettableConditions(DeviceConditions(hasExternalPower: false, batteryLevel: 0.1)),
            requirements: TransferConditions(minimumBatteryLevel: 0.2))
        let error = try #require(await backup.run().stoppedBy)
        #expect(error.code == .lowPower && error.isRetryable)
        #expect(ErrorText(of: error.code).suggestion == .charge)
    }

    @Test func `a backup runs where its requirements are met, whatever the network costs`() async throws {
        let backup = SourceBackup(
            source: ListedSource(["a": "one"]), client: .of(server), layout: layout, journal: try journal(),
            folder: scratch, conditions: SettableConditions(DeviceConditions(network: .expensive)),
            requirements: TransferConditions())
        #expect(await backup.run().isComplete)
    }

    @Test func `exports that fail for want of a network end the run`() async throws {
        let source = ListedSource(Dictionary(uniqueKeysWithValues: (10..<30).map { ("\($0)", "photo \($0)") }))
        for id in 12..<30 { await source.fail("\(id)", with: .unreachable) }
        let report = try await backup(of: source).run()
        #expect(report.stoppedBy?.code == .unreachable)
        #expect(await source.attempted.count == 10)
    }

    @Test func `exports that end runs do not keep the photos before and after them`() async throws {
        let source = ListedSource(Dictionary(uniqueKeysWithValues: (10..<30).map { ("\($0)", "photo \($0)") }))
        // In iCloud, and out of reach.
        for id in 12..<20 { await source.fail("\(id)", with: .unreachable) }
        let first = try await backup(of: source).run()
        #expect(first.stoppedBy?.code == .unreachable && first.backedUp == 2 && first.failures.count == 8)
        let second = try await backup(of: source).run()
        #expect(second.backedUp == 10 && second.stoppedBy?.code == .unreachable)
        #expect(server.objects().count == 12)
    }

    @Test func `a film larger than the free space is left out, and photos that fill it together are not`() async throws
    {
        let source = ListedSource(["a": "one", "b": "a film", "c": "three", "d": "four"])
        await source.fail("b", with: .diskFull)
        await source.fillDisk(with: 2)
        let report = try await backup(of: source).run()
        #expect(report.failures.map(\.photo.id) == ["b"] && report.stoppedBy == nil)
        #expect(report.backedUp == 3)
        #expect(await source.attempted == ["a", "b", "b", "c", "d"])
        await source.fillDisk(with: 1)
        await source.add("e", "five")
        await source.add("f", "six")
        #expect(try await backup(of: source).run().backedUp == 2)
    }

    @Test func `a store that refuses what filled the disk ends the run, and is no failure of the next photo`()
        async throws
    {
        let source = ListedSource(["a": "one", "b": "two", "c": "three"])
        await source.fillDisk(with: 1)
        server.fail(.putObject, with: .response(status: 403, code: "AccessDenied"))
        let report = try await backup(of: source).run()
        #expect(report.stoppedBy?.code == .accessDenied)
        #expect(!report.failures.contains { $0.photo.id != "a" })
        #expect(await source.attempted == ["a", "b"])
    }

    @Test func `a film whose export outlasts each run does not keep the other photos`() async throws {
        let source = ListedSource(["a": "one", "b": "a film", "c": "three"])
        for isFirst in [true, false] {
            let gate = Gate()
            await source.hold("b", at: gate)
            let backup = try backup(of: source)
            let run = Task { await backup.run() }
            await gate.arrival()
            run.cancel()
            #expect(await run.value.stoppedBy?.code == .cancelled)
            #expect(server.objects().count == (isFirst ? 0 : 2))
        }
    }

    @Test func `a photo that was deleted meanwhile is no failure`() async throws {
        let source = ListedSource(["a": "one", "b": "two"])
        await source.fail("a", with: .noSuchObject)
        let report = try await backup(of: source).run()
        #expect(report.backedUp == 1 && report.isComplete)
    }

    @Test func `equal photos of two pages are sent once`() async throws {
        var content = Dictionary(uniqueKeysWithValues: (10..<50).map { ("\($0)", "photo \($0)") })
        content["49"] = content["10"]
        let report = try await backup(of: ListedSource(content)).run()
        #expect(report.backedUp == 39 && report.alreadyThere == 1)
        #expect(server.count(.putObject) == 39)
    }

    @Test func `a run that ends early asks for the same changes again, and stores nothing twice`() async throws {
        let content = Dictionary(uniqueKeysWithValues: (0..<100).map { ("\($0)", "photo \($0)") })
        let source = ListedSource(content)
        // Within the second page of photos, which is stored, too.
        await source.end(after: 50)
        let first = try await backup(of: source).run()
        #expect(first.stoppedBy?.code == .unreachable)
        #expect(first.backedUp == 50)
        await source.end(after: nil)
        let second = try await backup(of: source).run()
        #expect(second.isComplete)
        #expect(await source.tokens == [nil, nil])
        #expect(server.objects().count == 100)
        let puts = server.requests(.putObject).map(\.key)
        #expect(puts.count == 100 && Set(puts).count == 100)
    }

    @Test func `files of a run that was killed are removed`() async throws {
        try folder.write("scratch/left.heic", Data("half a photo".utf8))
        _ = try await backup(of: ListedSource([:])).run()
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
    }

    @Test func `a film that is exported anew continues with the parts that S3 has`() async throws {
        let source = ListedSource(["a": String(repeating: "a film of 16 B. ", count: 11 << 16)])
        let backup = try backup(of: source)
        server.fail(.uploadPart, nth: 2, times: .max, with: .transport(.unreachable))
        #expect(await backup.run().failures.map(\.error.code) == [.unreachable])
        server.clearFaults()
        let report = await backup.run()
        #expect(report.isComplete && report.backedUp == 1)
        #expect(await source.exported == ["a", "a"])
        #expect(server.count(.createMultipartUpload) == 1 && server.count(.abortMultipartUpload) == 0)
    }

    @Test func `a folder's files are stored, and stay`() async throws {
        try folder.write("pictures/a.jpg", Data("one".utf8))
        try folder.write("pictures/trip/b.heic", Data("two".utf8))
        let pictures = folder.url.appendingPathComponent("pictures")
        let source = FolderPhotoSource(pictures)
        #expect(try await backup(of: source).run().backedUp == 2)
        #expect(try await backup(of: source).run().alreadyThere == 2)
        try folder.write("pictures/a.jpg", Data("another".utf8), age: 10)
        #expect(try await backup(of: source).run().backedUp == 1)
        #expect(Set(server.objects().keys) == [key("one"), key("two"), key("another")])
        #expect(try String(contentsOf: pictures.appendingPathComponent("trip/b.heic"), encoding: .utf8) == "two")
    }
}

import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// What becomes of photos that failed.
@Suite(.timeLimit(.minutes(1))) struct SourceBackupFailureTests {
    private let bench: SourceBackupBench
    private let ids = (100..<200).map { "\($0)" }

    init() throws { bench = try SourceBackupBench() }

    private func source() -> ListedSource {
        ListedSource(Dictionary(uniqueKeysWithValues: ids.map { ($0, "photo \($0)") }))
    }

    /// A hundred photos that no run can export, as earlier runs have recorded them.
    private func failingSource() async throws -> ListedSource {
        let source = source()
        for id in ids { await source.fail(id, with: .unreadableFile) }
        let journal = try bench.journal()
        try await journal.save(
            stored: [], gone: [], failed: ids.map { SourcePhoto(id: $0, version: "1", fileName: "\($0).heic") })
        try await journal.saveToken(Data("\(ids.count)".utf8))
        return source
    }

    @Test func `what is new is stored before what failed is attempted again`() async throws {
        let source = try await failingSource()
        await source.add("new", "new")
        let gate = Gate()
        await source.hold(ids[39], at: gate)
        let backup = try bench.backup(of: source)
        let run = Task { await backup.run() }
        await gate.arrival()
        run.cancel()
        _ = await run.value
        #expect(Set(bench.server.objects().keys) == [bench.key("new")])
    }

    @Test func `failures of a source that names everything come after what is new, too`() async throws {
        let source = try await failingSource()
        await source.add("new", "new")
        try await bench.journal().saveToken(nil)
        #expect(try await bench.backup(of: source).run().backedUp == 1)
        #expect(await Array(source.attempted) == ["new"] + ids.prefix(64))
    }

    @Test func `a run attempts 64 failures again, those attempted longest ago first`() async throws {
        let source = try await failingSource()
        let second = try await bench.backup(of: source).run()
        #expect(second.failures.map(\.photo.id) == Array(ids[..<64]))
        #expect(second.remaining == 36 && second.stoppedBy == nil && !second.isComplete)
        let third = try await bench.backup(of: source).run()
        #expect(third.failures.map(\.photo.id) == Array(ids[64...] + ids[..<28]))
    }

    @Test func `a source that fails for an hour is stored by the next run`() async throws {
        let source = source()
        for id in ids { await source.fail(id, with: .unreadableFile) }
        let first = try await bench.backup(of: source).run()
        #expect(first.stoppedBy?.code == .unreadableFile && first.failures.count == 64)
        #expect(await source.attempted == Array(ids[..<64]))
        for id in ids { await source.fail(id, with: nil) }
        let second = try await bench.backup(of: source).run()
        #expect(second.isComplete && second.backedUp == 100)
        #expect(await source.tokens == [nil, nil])
    }

    @Test func `all that failed in earlier runs is stored by one run, once it can be exported`() async throws {
        let source = try await failingSource()
        for id in ids.dropFirst(63) { await source.fail(id, with: nil) }
        let report = try await bench.backup(of: source).run()
        #expect(report.backedUp == 37 && report.failures.count == 63 && report.remaining == 0)
    }

    @Test func `exports that fail in a row do not keep the photos after them for good`() async throws {
        let source = source()
        for id in ids.prefix(70) { await source.fail(id, with: .unreadableFile) }
        #expect(try await bench.backup(of: source).run().stoppedBy != nil)
        let second = try await bench.backup(of: source).run()
        #expect(second.backedUp == 30 && second.stoppedBy == nil)
    }

    @Test func `a photo whose export ends the process does not keep the others`() async throws {
        let source = ListedSource(["a": "too large", "b": "two", "c": "three"])
        let gate = Gate()
        await source.hold("a", at: gate)
        // Here the process ends: nothing is cancelled.
        let killed = try bench.backup(of: source)
        async let first = killed.run()
        await gate.arrival()
        let next = try bench.backup(of: source)
        async let second = next.run()
        try await until { await source.attempted.count == 4 }
        #expect(await source.attempted == ["a", "b", "c", "a"])
        #expect(bench.isStored("two") && bench.isStored("three"))
        await gate.open()
        _ = await (first, second)
    }

    @Test func `a run that ends by itself has failed no export`() async throws {
        let source = ListedSource(["a": "one", "b": "two"])
        // While the first photo waits for its page.
        await source.end(after: 1)
        #expect(try await bench.backup(of: source).run().stoppedBy?.code == .unreachable)
        let journal = try bench.journal()
        try await journal.failUnendedExport()
        #expect(try await journal.failures() == [])
    }

    @Test func `two versions of a photo that fail are one that remains`() async throws {
        let source = ListedSource(["a": "one"])
        await source.add("a", "another", version: "2")
        await source.fail("a", with: .unreadableFile)
        let report = try await bench.backup(of: source).run()
        #expect(report.failures.count == 2 && report.remaining == 0)
    }
}

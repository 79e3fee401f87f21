import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// Runs over a library some of whose assets cannot be read, or were deleted.
@Suite(.timeLimit(.minutes(1))) struct LibraryBackupTests {
    private let bench: SourceBackupBench
    private let library = FakeLibrary()

    init() throws { bench = try SourceBackupBench() }

    private func run(_ selection: PhotoSelection = PhotoSelection()) async throws -> SourceBackupReport {
        try await bench.backup(of: PhotoLibrarySource(library, selection: selection)).run()
    }

    private func assets(_ ids: String...) -> [LibraryAsset] { ids.map { .named($0, .photo) } }

    @Test func `an asset that cannot be read is a failure, and does not keep the others`() async throws {
        await library.set(assets("a", "b", "c"))
        await library.hide(["b"])
        let first = try await run()
        #expect(first.backedUp == 2 && first.stoppedBy == nil)
        #expect(first.failures.map(\.photo.id) == ["b"])
        #expect(try await run().failures.map(\.photo.id) == ["b"])
        await library.hide([])
        let second = try await run()
        #expect(second.backedUp == 1 && second.isComplete)
        #expect(bench.isStored("photo of b"))
        #expect(try await bench.journal().failures() == [])
        #expect(bench.server.objects().count == 3)
    }

    @Test func `assets that cannot be read are looked for in one listing`() async throws {
        let ids = (100..<120).map { "\($0)" }
        await library.set(assets("a") + ids.map { .named($0, .photo, .pairedVideo) })
        await library.hide(Set(ids))
        #expect(try await run().failures.count == 20)
        // And one to name everything.
        #expect(await library.listings == 2)
        await library.hide([])
        #expect(try await run().isComplete)
        #expect(bench.server.objects().count == 41)
    }

    @Test func `assets that are deleted in the middle of a run are no failures for long`() async throws {
        let ids = (100..<300).map { "\($0)" }
        await library.set(assets("a") + ids.map { .named($0, .photo) } + assets("z"))
        await library.hide(["a"])
        await library.onListing(2) { $0.removeAll { ids.contains($0.id) } }
        let report = try await run()
        #expect(report.stoppedBy == nil && report.failures.count <= 32)
        #expect(bench.isStored("photo of z"))
    }

    @Test func `an asset that could not be read and is not selected any more is no failure`() async throws {
        await library.set(assets("a", "b"), access: .limited)
        await library.hide(["b"])
        #expect(try await run().failures.map(\.photo.id) == ["b"])
        await library.set(assets("a"), access: .limited)
        #expect(try await run().isComplete)
        await library.set(assets("a", "b"), access: .limited)
        await library.hide([])
        #expect(try await run().backedUp == 1)
    }

    @Test func `an asset that is read at last is counted once`() async throws {
        await library.set(assets("a", "b"), access: .limited)
        await library.hide(["b"])
        _ = try await run()
        await library.hide([])
        let report = try await run()
        #expect(report.backedUp == 1 && report.alreadyThere == 1 && report.isComplete)
    }

    @Test func `an asset that could not be read is left out when it turns out to be hidden`() async throws {
        var hidden = LibraryAsset.named("b", .photo)
        hidden.isHidden = true
        await library.set(assets("a") + [hidden])
        await library.hide(["b"])
        #expect(try await !run().failures.isEmpty)
        await library.hide([])
        #expect(try await run().isComplete)
        #expect(!bench.isStored("photo of b"))
    }

    @Test func `assets in a row that cannot be read end the run, and do not keep those after them`() async throws {
        let ids = (100..<180).map { "\($0)" }
        await library.set(ids.map { .named($0, .photo) } + assets("a"))
        await library.hide(Set(ids))
        let first = try await run()
        #expect(first.stoppedBy?.code == .unreadableFile && first.failures.count == 64)
        let second = try await run()
        #expect(second.backedUp == 1 && second.stoppedBy == nil)
        await library.hide([])
        _ = try await run()
        #expect(try await run().isComplete)
        #expect(bench.server.objects().count == 81)
    }

    @Test func `failures whose photos were deleted are cleared by one listing`() async throws {
        await library.set(assets("a", "b", "c", "d"))
        await library.change("d")
        await library.fail(["a", "b", "c"])
        #expect(try await run().failures.count == 3)
        await library.set(assets("d"))
        await library.loseHistory()
        let before = await library.listings
        #expect(try await run().isComplete)
        // And one to name everything.
        #expect(await library.listings == before + 2)
        #expect(try await bench.journal().failures() == [])
    }

    @Test func `failures of a library whose photos were all deleted are cleared`() async throws {
        await library.set(assets("a", "b"))
        await library.fail(["a"])
        #expect(try await run().failures.map(\.photo.id) == ["a#photo"])
        for id in ["a", "b"] { await library.delete(id) }
        #expect(try await run().isComplete)
        #expect(try await bench.journal().failures() == [])
    }

    /// The history says it once: the next run may not learn of it.
    @Test func `failures whose photos were deleted are cleared by a run that may not export`() async throws {
        await library.set(assets("a", "b"))
        await library.fail(["a"])
        _ = try await run()
        await library.delete("a")
        let backup = SourceBackup(
            source: PhotoLibrarySource(library, selection: PhotoSelection()), client: .of(bench.server),
            layout: bench.layout, journal: try bench.journal(), folder: bench.scratch,
            conditions: SettableConditions(DeviceConditions(network: .expensive)))
        #expect(await backup.run().isComplete)
        #expect(try await bench.journal().failures() == [])
    }

    @Test func `a failure stays while a library looks empty and its history says nothing of that`() async throws {
        await library.set(assets("a", "b"))
        await library.fail(["a"])
        #expect(try await run().failures.map(\.photo.id) == ["a#photo"])
        await library.set([])
        for _ in 0..<2 { #expect(try await run().failures.map(\.error) == [.unreadableLibrary]) }
        await library.set(assets("a", "b"))
        await library.fail([])
        #expect(try await run().backedUp == 1)
    }
}

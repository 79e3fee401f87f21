import Foundation
import Synchronization
import Testing

@testable import CloakroomKit

/// Collectors that give their assets a batch at a time.
@Suite struct RenewalBatchTests {
    private let fixture = RenewalFixture()

    /// Keys in the order of a database, some of them by two assets.
    private struct Cursor: AsyncSequence, Sendable {
        var count: Int
        var error: CloakroomError?
        var watch = LifetimeWatch()

        struct AsyncIterator: AsyncIteratorProtocol {
            let cursor: Cursor
            var number = 0

            mutating func next() async throws -> RenewableAsset? {
                guard number < cursor.count else {
                    if let error = cursor.error { throw error }
                    return nil
                }
                number += 1
                // Every tenth object has a second asset, far behind.
                let key = number % 10 == 0 ? number / 2 : number
                let asset = image("\(key).bin", of: "c\(number)")
                cursor.watch.watch(asset.url)
                return asset
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(cursor: self) }

        var keys: Set<String> {
            Set((1...count).map { "\($0 % 10 == 0 ? $0 / 2 : $0).bin" })
        }
    }

    private func collector(_ cursor: Cursor) -> AssetCollection { .batches { AssetBatches(of: cursor) } }

    @Test func `100,000 assets are renewed once each, and at most 2,000 of them are held`() async throws {
        let cursor = Cursor(count: 100_000)
        let renewer = fixture.renewer
        await renewer.respond { keys in
            cursor.watch.count()
            return results(keys)
        }
        // The fixture's recovery would hold them all.
        let recovery = CountingRecovery()
        let manager = AssetRenewalManager(
            renewer: renewer, collector: collector(cursor), store: fixture.store, recovery: recovery,
            baseURLs: try AssetBaseURLs([URL(string: "https://cdn.example.com")!]), runtime: fixture.fake.runtime)
        let report = await manager.renewIfNeeded()
        let batches = await renewer.takeBatches()
        let keys = batches.flatMap(\.self)
        #expect(keys.count == cursor.keys.count)
        #expect(Set(keys) == cursor.keys)
        #expect(batches.count <= cursor.keys.count / 90)
        #expect(report.end == .finished && report.renewed == keys.count && report.assets == 100_000)
        #expect((100...2000).contains(cursor.watch.highest), "\(cursor.watch.highest)")
        // Of each asset, those of one key included.
        #expect(await recovery.renewed == 100_000)
        let again = await manager.renewIfNeeded()
        #expect(again.requests == 0 && again.notDue == keys.count)
    }

    @Test(arguments: [3, 500, 2700])
    func `an error of the sequence ends the run, and what came before it is renewed`(count: Int) async throws {
        let cursor = Cursor(count: count, error: CloakroomError(.storeFailed, "the cursor broke"))
        let report = try await fixture.manager(collector(cursor)).renewIfNeeded()
        #expect(report.end == .stopped && report.error?.code == .storeFailed)
        #expect(report.renewed == cursor.keys.count && report.notSent == 0)
        #expect(try await fixture.records().count == report.renewed)
        let rest = try await fixture.manager(collector(Cursor(count: count + 10))).renewIfNeeded()
        #expect(rest.end == .finished && rest.notDue == report.renewed && rest.renewed > 0)
    }

    @Test func `a run that is cancelled sends nothing of what was in hand`() async throws {
        let query = AssetCollection.batches {
            AssetBatches { number in
                guard number > 0 else { return images(10) }
                for await _ in AsyncStream<Void>.never {}
                throw CloakroomError(.storeFailed, "the query was interrupted")
            }
        }
        let manager = try fixture.manager(query)
        let task = Task { await manager.renewIfNeeded() }
        while await manager.callerCount == 0 { await Task.yield() }
        task.cancel()
        let report = await task.value
        #expect(report.end == .stopped && report.notSent == 10)
        #expect(await fixture.renewer.batches.isEmpty)
    }

    @Test func `cancelling ends the walk`() async throws {
        let cursor = Cursor(count: 100_000)
        let manager = try fixture.manager(collector(cursor))
        let (cancelled, continuation) = AsyncStream<Void>.makeStream()
        await fixture.renewer.respond { keys in
            continuation.yield()
            for await _ in AsyncStream<Void>.never {}
            return results(keys)
        }
        let task = Task { await manager.renewIfNeeded() }
        for await _ in cancelled { break }
        await manager.cancel()
        let report = await task.value
        #expect(report.end == .stopped && report.error?.code == .cancelled)
        #expect(report.assets < 3000)
        #expect(await fixture.renewer.batches.count == 1)
    }

    @Test func `recovery hears of every asset of an object that is gone`() async throws {
        await fixture.renewer.respond { results($0, ["5.bin": .notFound]) }
        _ = try await fixture.manager(collector(Cursor(count: 3000))).renewIfNeeded()
        let expired = await fixture.recovery.expired
        #expect(expired.map(\.asset) == [image("5.bin", of: "c5"), image("5.bin", of: "c10")])
        await fixture.renewer.respond { results($0, ["1005.bin": .notFound]) }
        _ = try await fixture.manager(collector(Cursor(count: 3000))).forceRenewal()
        // The second one comes two windows later.
        #expect(
            await fixture.recovery.expired.dropFirst(2).map(\.asset)
                == [image("1005.bin", of: "c1005"), image("1005.bin", of: "c2010")])
    }

    @Test func `records are forgotten only when all assets were seen`() async throws {
        try await fixture.store.save([fixture.fresh("old.bin")])
        fixture.fake.pass(.days(91))
        let broken = Cursor(count: 10, error: CloakroomError(.storeFailed, "the cursor broke"))
        _ = try await fixture.manager(collector(broken)).renewIfNeeded()
        #expect(try await fixture.records().map(\.key).contains("old.bin"))
        _ = try await fixture.manager(collector(Cursor(count: 10))).renewIfNeeded()
        #expect(try await !fixture.records().map(\.key).contains("old.bin"))
    }

    @Test func `pages of a query, a sequence and a list are the same to a renewal`() async throws {
        let assets = images(7)
        let pages = AssetBatches { number in number < 3 ? Array(assets.dropFirst(number * 3).prefix(3)) : nil }
        for batches in [pages, AssetBatches(assets), AssetBatches(of: assets.stream, size: 2)] {
            #expect(try await batches.all() == assets)
        }
        #expect(try await pages.filter { $0 != assets[3] }.all() == Array(assets[..<3] + assets[4...]))
    }

    @Test func `a store reads the records of some keys, and those long unheard of`() async throws {
        let folder = try TemporaryFolder()
        let sqlite = try SQLiteRenewalStore(at: folder.url.appendingPathComponent("r.sqlite"), owner: .test)
        let date = fixture.fake.wallTime
        let failure = RenewalFailure(kind: .notFound, reason: "", first: date, last: date, count: 1)
        let records = [
            RenewalRecord(key: "a", lastRenewed: date - 100), RenewalRecord(key: "b", lastRenewed: date),
            RenewalRecord(key: "c", lastRenewed: date - 100, failure: failure), RenewalRecord(key: "d"),
        ]
        for store in [sqlite, InMemoryRenewalStore(), FailingRenewalStore()] as [any RenewalStore] {
            try await store.save(records)
            #expect(try await store.records(of: ["b", "x", "d"]).map(\.key).sorted() == ["b", "d"])
            #expect(try await store.keys(notHeardSince: date - 50).sorted() == ["a", "d"])
        }
    }
}

private actor CountingRecovery: ExpiredAssetRecoveryHandler {
    private(set) var renewed = 0

    func handleExpiredAsset(_ asset: RenewableAsset, key: String, at date: Date) -> RecoveryOutcome {
        .awaitingConfirmation(since: date)
    }
    func handleRenewedAssets(_ assets: [RenewableAsset], at date: Date) { renewed += assets.count }
}

/// How many URLs are still held by somebody, by weak references to what they share.
private final class LifetimeWatch: Sendable {
    private struct Reference: @unchecked Sendable {
        // Read and written under the lock alone.
        weak var storage: AnyObject?
    }

    private let references = Mutex<[Reference]>([])
    private let most = Mutex(0)

    func watch(_ url: URL) {
        let storage = Mirror(reflecting: url).children.lazy.compactMap { $0.value as AnyObject }.first
        references.withLock { $0.append(Reference(storage: storage)) }
    }

    /// Counts those that are held now.
    func count() {
        let held = references.withLock { references in
            references.removeAll { $0.storage == nil }
            return references.count
        }
        most.withLock { $0 = max($0, held) }
    }

    var highest: Int { most.withLock { $0 } }
}

extension AsyncStream<Void> {
    /// Ends by cancellation alone.
    fileprivate static var never: AsyncStream<Void> { AsyncStream { _ in } }
}

extension [RenewableAsset] {
    fileprivate var stream: AsyncStream<RenewableAsset> {
        AsyncStream { continuation in
            for asset in self { continuation.yield(asset) }
            continuation.finish()
        }
    }
}

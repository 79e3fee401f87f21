import AWS
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct AssetRecoveryTests {
    let time = TestWorld()
    let world: RecoveryWorld
    let asset = RenewableAsset.group("old")

    init() { world = RecoveryWorld(time: time) }

    private func handle(_ recovery: AssetRecovery) async -> RecoveryOutcome {
        await recovery.handleExpiredAsset(asset, key: "old.bin", at: time.wallTime)
    }

    @Test func `cached bytes are uploaded again, each step journaled before it begins`() async {
        await world.add(asset, cached: "bytes")
        let outcome = await handle(world.recovery())
        #expect(outcome == .recovered(newURL: URL(string: "https://cdn.example/new1.bin")!))
        #expect(
            await world.log == [
                "cache", "write expired", "request 5", "write uploading new1.bin", "put new1.bin",
                "write uploaded new1.bin", "replace new1.bin", "remove",
            ])
        #expect(await world.urls == ["group old": URL(string: "https://cdn.example/new1.bin")!])
        #expect(await world.journal.isEmpty)
    }

    @Test func `renewals learn when the new object was stored, not when its URL was handed out`() async throws {
        await world.add(asset, cached: "bytes")
        await world.fail("replace", CloakroomError(.storeFailed, "locked"))
        let store = InMemoryRenewalStore()
        let recovery = await world.recovery(renewals: store)
        let stored = time.wallTime
        _ = await handle(recovery)
        #expect(await store.records() == [])
        time.pass(.seconds(3 * 86_400))
        try await recovery.resume()
        #expect(await store.records() == [RenewalRecord(key: "new1.bin", lastRenewed: stored)])
    }

    @Test func `an image that the user has changed meanwhile is not written over`() async {
        await world.add(asset, cached: "bytes")
        let chosen = URL(string: "https://cdn.example/chosen.bin")!
        await world.set(chosen, for: asset)
        #expect(await handle(world.recovery()) == .superseded)
        #expect(await world.urls == ["group old": chosen])
        #expect(await world.journal.isEmpty)
    }

    @Test func `without bytes the URL goes after a second look on another day`() async {
        await world.add(asset, cached: nil)
        let recovery = await world.recovery()
        let first = time.wallTime
        #expect(await handle(recovery) == .waitingForSecondLook(since: first))
        time.pass(.seconds(11 * 3600))
        #expect(await handle(recovery) == .waitingForSecondLook(since: first))
        #expect(await world.takeLog() == ["cache", "write missing", "cache"])
        time.pass(.seconds(3600))
        #expect(await handle(recovery) == .cleared)
        #expect(await world.log == ["cache", "write clearing", "clear", "remove"])
        #expect(await world.urls.isEmpty)
        #expect(await world.journal.isEmpty)
    }

    @Test func `a renewal in between takes the mark away`() async {
        await world.add(asset, cached: nil)
        let recovery = await world.recovery()
        _ = await handle(recovery)
        await recovery.handleRenewedAssets([.group("other"), asset], at: time.wallTime)
        #expect(await world.journal.isEmpty)
        time.pass(.seconds(2 * 86_400))
        #expect(await handle(recovery) == .waitingForSecondLook(since: time.wallTime))
        #expect(await world.urls == ["group old": asset.url])
    }

    @Test func `a renewal does not stop an upload that is there from being handed out`() async throws {
        await world.add(asset, cached: "bytes")
        await world.fail("replace", CloakroomError(.storeFailed, "locked"))
        let recovery = await world.recovery()
        #expect(await handle(recovery) == .postponed(CloakroomError(.storeFailed, "locked")))
        await recovery.handleRenewedAssets([asset], at: time.wallTime)
        _ = await world.takeLog()
        let reports = try await recovery.resume()
        #expect(reports.map(\.outcome) == [.recovered(newURL: URL(string: "https://cdn.example/new1.bin")!)])
        #expect(await world.log == ["read", "replace new1.bin", "remove"])
    }

    @Test func `a clock set ahead within one launch makes no other day`() async {
        await world.add(asset, cached: nil)
        let recovery = await world.recovery()
        let first = time.wallTime
        _ = await handle(recovery)
        time.setWallClock(ahead: .seconds(3 * 86_400))
        #expect(await handle(recovery) == .waitingForSecondLook(since: first))
    }

    @Test func `a clock set back begins the wait anew`() async {
        await world.add(asset, cached: nil)
        time.setWallClock(ahead: .seconds(30 * 86_400))
        _ = await handle(world.recovery())
        time.setWallClock(ahead: .zero)
        let corrected = time.wallTime
        #expect(await handle(world.recovery()) == .waitingForSecondLook(since: corrected))
        time.pass(.seconds(86_400))
        #expect(await handle(world.recovery()) == .cleared)
    }

    @Test func `bytes found at the second look are uploaded`() async {
        await world.add(asset, cached: nil)
        _ = await handle(world.recovery())
        time.pass(.seconds(86_400))
        await world.cache("bytes", for: asset)
        #expect(
            await handle(world.recovery()) == .recovered(newURL: URL(string: "https://cdn.example/new1.bin")!))
    }

    @Test func `an empty file in the cache is no image`() async {
        await world.add(asset, cached: "")
        #expect(await handle(world.recovery()) == .waitingForSecondLook(since: time.wallTime))
    }

    @Test func `a cache that cannot be read decides nothing, even on another day`() async {
        await world.add(asset, cached: nil)
        let first = time.wallTime
        _ = await handle(world.recovery())
        time.pass(.seconds(2 * 86_400))
        await world.fail("cache", CloakroomError(.unreadableFile, "the device is locked"))
        #expect(
            await handle(world.recovery()) == .postponed(CloakroomError(.unreadableFile, "the device is locked")))
        #expect(await world.urls == ["group old": asset.url])
        #expect(await world.journal[asset]?.since == first)
    }

    @Test func `a full disk stops everything before it begins`() async {
        let full = CloakroomError(.diskFull, "full")
        await world.add(asset, cached: "bytes")
        await world.fail("write", full)
        #expect(await handle(world.recovery()) == .postponed(full))
        #expect(await world.takeLog() == ["cache", "write expired ✗"])

        await world.cache(nil, for: asset)
        _ = await handle(world.recovery())
        time.pass(.seconds(86_400))
        _ = await world.takeLog()
        await world.fail("write", full)
        #expect(await handle(world.recovery()) == .postponed(full))
        #expect(await world.log == ["cache", "write clearing ✗"])
        #expect(await world.urls == ["group old": asset.url])
    }

    @Test func `an image is recovered even when its record cannot be removed, and is not touched again`() async throws {
        await world.add(asset, cached: "bytes")
        await world.fail("remove", CloakroomError(.diskFull, "full"))
        let newURL = URL(string: "https://cdn.example/new1.bin")!
        #expect(await handle(world.recovery()) == .recovered(newURL: newURL))
        #expect(try await world.recovery().resume().map(\.outcome) == [.recovered(newURL: newURL)])
        #expect(await world.journal.isEmpty)
        #expect(await world.objects == ["new1.bin": 5])
    }

    @Test func `calls come one after another`() async throws {
        let gate = Gate()
        await world.add(asset, cached: "bytes")
        await world.hold(at: gate)
        let recovery = await world.recovery()
        async let first = handle(recovery)
        async let second = handle(recovery)
        async let resumed = recovery.resume()
        await gate.open()
        // Whichever came first has moved the database on; for the other the asset is another one.
        let outcomes = await [first, second]
        _ = try await resumed
        #expect(outcomes.contains(.recovered(newURL: URL(string: "https://cdn.example/new1.bin")!)))
        #expect(outcomes.contains(.superseded))
        #expect(await world.urls == ["group old": URL(string: "https://cdn.example/new1.bin")!])
        #expect(await world.journal.isEmpty)
    }
}

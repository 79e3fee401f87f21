import CloakroomAWS
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct AssetRecoveryTests {
    let time = FakeRuntime()
    let fixture: RecoveryFixture
    let asset = RenewableAsset.group("old")

    init() { fixture = RecoveryFixture(time: time) }

    private func handle(_ recovery: AssetRecovery) async -> RecoveryOutcome {
        await recovery.handleExpiredAsset(asset, key: "old.bin", at: time.wallTime)
    }

    @Test func `cached bytes are uploaded again, each step journaled before it begins`() async {
        await fixture.add(asset, cached: "bytes")
        let outcome = await handle(fixture.recovery())
        #expect(outcome == .recovered(newURL: URL(string: "https://cdn.example/new1.bin")!))
        #expect(
            await fixture.log == [
                "cache", "write expired", "request 5", "write uploading new1.bin", "put new1.bin",
                "write uploaded new1.bin", "replace new1.bin", "remove",
            ])
        #expect(await fixture.urls == ["group old": URL(string: "https://cdn.example/new1.bin")!])
        #expect(await fixture.journal.isEmpty)
    }

    @Test func `renewals learn when the new object was stored, not when its URL was handed out`() async throws {
        await fixture.add(asset, cached: "bytes")
        await fixture.fail("replace", CloakroomError(.storeFailed, "locked"))
        let store = InMemoryRenewalStore()
        let recovery = await fixture.recovery(renewals: store)
        let stored = time.wallTime
        _ = await handle(recovery)
        #expect(await store.records() == [])
        time.pass(.seconds(3 * 86_400))
        try await recovery.resume()
        #expect(await store.records() == [RenewalRecord(key: "new1.bin", lastRenewed: stored)])
    }

    @Test func `an image that the user has changed meanwhile is not written over`() async {
        await fixture.add(asset, cached: "bytes")
        let chosen = URL(string: "https://cdn.example/chosen.bin")!
        await fixture.set(chosen, for: asset)
        #expect(await handle(fixture.recovery()) == .superseded)
        #expect(await fixture.urls == ["group old": chosen])
        #expect(await fixture.journal.isEmpty)
    }

    @Test func `without bytes the URL goes after a second look on another day`() async {
        await fixture.add(asset, cached: nil)
        let recovery = await fixture.recovery()
        let first = time.wallTime
        #expect(await handle(recovery) == .awaitingConfirmation(since: first))
        time.pass(.seconds(11 * 3600))
        #expect(await handle(recovery) == .awaitingConfirmation(since: first))
        #expect(await fixture.takeLog() == ["cache", "write missing", "cache"])
        time.pass(.seconds(3600))
        #expect(await handle(recovery) == .cleared)
        #expect(await fixture.log == ["cache", "write clearing", "clear", "remove"])
        #expect(await fixture.urls.isEmpty)
        #expect(await fixture.journal.isEmpty)
    }

    @Test func `a renewal in between takes the mark away`() async {
        await fixture.add(asset, cached: nil)
        let recovery = await fixture.recovery()
        _ = await handle(recovery)
        await recovery.handleRenewedAssets([.group("other"), asset], at: time.wallTime)
        #expect(await fixture.journal.isEmpty)
        time.pass(.seconds(2 * 86_400))
        #expect(await handle(recovery) == .awaitingConfirmation(since: time.wallTime))
        #expect(await fixture.urls == ["group old": asset.url])
    }

    @Test func `a renewal does not stop an upload that is there from being handed out`() async throws {
        await fixture.add(asset, cached: "bytes")
        await fixture.fail("replace", CloakroomError(.storeFailed, "locked"))
        let recovery = await fixture.recovery()
        #expect(await handle(recovery) == .postponed(CloakroomError(.storeFailed, "locked")))
        await recovery.handleRenewedAssets([asset], at: time.wallTime)
        _ = await fixture.takeLog()
        let reports = try await recovery.resume()
        #expect(reports.map(\.outcome) == [.recovered(newURL: URL(string: "https://cdn.example/new1.bin")!)])
        #expect(await fixture.log == ["read", "replace new1.bin", "remove"])
    }

    @Test func `a clock set ahead within one launch makes no other day`() async {
        await fixture.add(asset, cached: nil)
        let recovery = await fixture.recovery()
        let first = time.wallTime
        _ = await handle(recovery)
        time.setWallClock(ahead: .seconds(3 * 86_400))
        #expect(await handle(recovery) == .awaitingConfirmation(since: first))
    }

    @Test func `a clock set back begins the wait anew`() async {
        await fixture.add(asset, cached: nil)
        time.setWallClock(ahead: .seconds(30 * 86_400))
        _ = await handle(fixture.recovery())
        time.setWallClock(ahead: .zero)
        let corrected = time.wallTime
        #expect(await handle(fixture.recovery()) == .awaitingConfirmation(since: corrected))
        time.pass(.seconds(86_400))
        #expect(await handle(fixture.recovery()) == .cleared)
    }

    @Test func `bytes found at the second look are uploaded`() async {
        await fixture.add(asset, cached: nil)
        _ = await handle(fixture.recovery())
        time.pass(.seconds(86_400))
        await fixture.cache("bytes", for: asset)
        #expect(
            await handle(fixture.recovery()) == .recovered(newURL: URL(string: "https://cdn.example/new1.bin")!))
    }

    @Test func `an empty file in the cache is no image`() async {
        await fixture.add(asset, cached: "")
        #expect(await handle(fixture.recovery()) == .awaitingConfirmation(since: time.wallTime))
    }

    @Test func `a cache that cannot be read decides nothing, even on another day`() async {
        await fixture.add(asset, cached: nil)
        let first = time.wallTime
        _ = await handle(fixture.recovery())
        time.pass(.seconds(2 * 86_400))
        await fixture.fail("cache", CloakroomError(.unreadableFile, "the device is locked"))
        #expect(
            await handle(fixture.recovery()) == .postponed(CloakroomError(.unreadableFile, "the device is locked")))
        #expect(await fixture.urls == ["group old": asset.url])
        #expect(await fixture.journal[asset]?.since == first)
    }

    @Test func `a full disk stops everything before it begins`() async {
        let full = CloakroomError(.diskFull, "full")
        await fixture.add(asset, cached: "bytes")
        await fixture.fail("write", full)
        #expect(await handle(fixture.recovery()) == .postponed(full))
        #expect(await fixture.takeLog() == ["cache", "write expired ✗"])

        await fixture.cache(nil, for: asset)
        _ = await handle(fixture.recovery())
        time.pass(.seconds(86_400))
        _ = await fixture.takeLog()
        await fixture.fail("write", full)
        #expect(await handle(fixture.recovery()) == .postponed(full))
        #expect(await fixture.log == ["cache", "write clearing ✗"])
        #expect(await fixture.urls == ["group old": asset.url])
    }

    @Test func `an image is recovered even when its record cannot be removed, and is not touched again`() async throws {
        await fixture.add(asset, cached: "bytes")
        await fixture.fail("remove", CloakroomError(.diskFull, "full"))
        let newURL = URL(string: "https://cdn.example/new1.bin")!
        #expect(await handle(fixture.recovery()) == .recovered(newURL: newURL))
        #expect(try await fixture.recovery().resume().map(\.outcome) == [.recovered(newURL: newURL)])
        #expect(await fixture.journal.isEmpty)
        #expect(await fixture.objects == ["new1.bin": 5])
    }

    @Test func `calls come one after another`() async throws {
        let gate = Gate()
        await fixture.add(asset, cached: "bytes")
        await fixture.hold(at: gate)
        let recovery = await fixture.recovery()
        async let first = handle(recovery)
        async let second = handle(recovery)
        async let resumed = recovery.resume()
        await gate.open()
        // Whichever came first has moved the database on; for the other the asset is another one.
        let outcomes = await [first, second]
        _ = try await resumed
        #expect(outcomes.contains(.recovered(newURL: URL(string: "https://cdn.example/new1.bin")!)))
        #expect(outcomes.contains(.superseded))
        #expect(await fixture.urls == ["group old": URL(string: "https://cdn.example/new1.bin")!])
        #expect(await fixture.journal.isEmpty)
    }
}

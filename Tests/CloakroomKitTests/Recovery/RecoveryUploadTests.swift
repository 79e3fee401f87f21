import CloakroomAWS
import Foundation
import Testing

@testable import CloakroomKit

/// What a recovery does when its upload does not go through at once.
@Suite struct RecoveryUploadTests {
    let time = FakeRuntime()
    let fixture: RecoveryFixture
    let asset = RenewableAsset.group("old")
    let newURL = URL(string: "https://cdn.example/new1.bin")!

    init() { fixture = RecoveryFixture(time: time) }

    private func handle(_ recovery: AssetRecovery, _ asset: RenewableAsset? = nil) async -> RecoveryOutcome {
        await recovery.handleExpiredAsset(asset ?? self.asset, key: "old.bin", at: time.wallTime)
    }

    private func put(expiresAfter seconds: Double?, byteCount: Int64 = 5, key: String? = nil) async {
        await fixture.add(asset, cached: "bytes")
        let target = UploadTarget.numbered(0, key: key, expiration: seconds.map { time.wallTime + $0 })
        let place = UploadDestination(target: target, byteCount: byteCount, requestedAt: time.wallTime - 60)
        await fixture.put(
            RecoveryRecord(asset: asset, key: "old.bin", since: time.wallTime - 60, step: .uploading(place)))
    }

    @Test func `the URL of an earlier launch is used while it is valid`() async throws {
        await put(expiresAfter: 1)
        let url = URL(string: "https://cdn.example/new0.bin")!
        #expect(try await fixture.recovery().resume().map(\.outcome) == [.recovered(newURL: url)])
        #expect(
            await fixture.log == [
                "read", "cache", "put new0.bin", "write uploaded new0.bin", "replace new0.bin", "remove",
            ])
    }

    @Test(arguments: [(0.0, Int64(5)), (nil, 5), (600, 6)])
    func `a URL that is not valid for these bytes is checked first: what had arrived is used`(
        expiresAfter: Double?, byteCount: Int64
    ) async throws {
        await put(expiresAfter: expiresAfter, byteCount: byteCount)
        await fixture.store("new0.bin")
        let url = URL(string: "https://cdn.example/new0.bin")!
        #expect(try await fixture.recovery().resume().map(\.outcome) == [.recovered(newURL: url)])
        #expect(
            await fixture.log == [
                "read", "cache", "renew new0.bin", "write uploaded new0.bin", "replace new0.bin", "remove",
            ])
    }

    @Test func `a renewal of a key that only looks alike says nothing of an earlier upload`() async throws {
        await put(expiresAfter: 0, key: "\u{E9}.bin")
        await fixture.store("\u{E9}.bin")
        await fixture.answerRenewals(with: "e\u{301}.bin")
        #expect(try await fixture.recovery().resume().map(\.outcome.code) == [.unavailable])
        #expect(await fixture.log == ["read", "cache", "renew \u{E9}.bin"])
    }

    @Test func `when nothing had arrived at an expired URL, another one is requested`() async throws {
        await put(expiresAfter: 0)
        #expect(try await fixture.recovery().resume().map(\.outcome) == [.recovered(newURL: newURL)])
        #expect(
            await fixture.log == [
                "read", "cache", "renew new0.bin", "request 5", "write uploading new1.bin", "put new1.bin",
                "write uploaded new1.bin", "replace new1.bin", "remove",
            ])
    }

    @Test func `an upload that had arrived is found though the cache has lost the bytes`() async throws {
        await put(expiresAfter: 600)
        await fixture.store("new0.bin")
        await fixture.cache(nil, for: asset)
        let url = URL(string: "https://cdn.example/new0.bin")!
        #expect(try await fixture.recovery().resume().map(\.outcome) == [.recovered(newURL: url)])
    }

    @Test func `when neither S3 nor the cache has the bytes, the wait for a second check begins`() async throws {
        await put(expiresAfter: 600)
        await fixture.cache(nil, for: asset)
        #expect(
            try await fixture.recovery().resume().map(\.outcome) == [.awaitingConfirmation(since: time.wallTime)])
        #expect(await fixture.log == ["read", "cache", "renew new0.bin", "write missing"])
    }

    @Test func `an earlier URL that is refused is replaced by a new one`() async throws {
        await put(expiresAfter: 600)
        await fixture.fail("put", CloakroomError(.accessDenied, "the signer's session has ended"))
        #expect(try await fixture.recovery().resume().map(\.outcome) == [.recovered(newURL: newURL)])
        #expect(await fixture.log.prefix(4) == ["read", "cache", "put new0.bin ✗", "renew new0.bin"])
    }

    @Test func `a URL that expired on the way is replaced once`() async throws {
        let ended = CloakroomError(.uploadURLExpired, "ended")
        await fixture.add(asset, cached: "bytes")
        await fixture.fail("put", ended)
        let recovery = await fixture.recovery()
        #expect(await handle(recovery) == .recovered(newURL: URL(string: "https://cdn.example/new2.bin")!))
        await fixture.add(.group("other"), cached: "bytes")
        await fixture.fail("put", ended, ended)
        #expect(await handle(recovery, .group("other")) == .postponed(ended))
    }

    @Test(arguments: ["request", "put"])
    func `what fails in passing goes on at the next launch`(call: String) async throws {
        let away = CloakroomError(.unreachable, "no network")
        await fixture.add(asset, cached: "bytes")
        await fixture.fail(call, away)
        #expect(await handle(fixture.recovery()) == .postponed(away))
        #expect(try await fixture.recovery().resume().map(\.outcome) == [.recovered(newURL: newURL)])
        #expect(await fixture.objects == ["new1.bin": 5])
    }

    @Test(arguments: [
        (CloakroomError(.tooManyRequests, "Too many uploads", retryAfter: .seconds(600)), 600),
        (CloakroomError(.tokenUnavailable, "not signed in"), 60),
        (CloakroomError(.invalidResponse, "a captive portal's page"), 60),
        (CloakroomError(.unavailable, "gone fishing", retryAfter: .seconds(4_294_967_295)), 86_400),
    ])
    func `while the server would respond the same, further assets are only journaled`(
        error: CloakroomError, seconds: Int
    ) async {
        await fixture.add(asset, cached: "bytes")
        await fixture.add(.group("other"), cached: "more bytes")
        await fixture.fail("request", error)
        let recovery = await fixture.recovery()
        #expect(await handle(recovery) == .postponed(error))
        _ = await fixture.takeLog()
        time.pass(.seconds(seconds - 1))
        #expect(await handle(recovery, .group("other")) == .postponed(error))
        #expect(await fixture.takeLog() == ["cache", "write expired"])
        time.pass(.seconds(1))
        #expect(await handle(recovery, .group("other")) == .recovered(newURL: newURL))
    }

    @Test(arguments: [CloakroomError.Code.contentTypeNotAllowed, .storageQuotaExceeded, .bodyTooLarge])
    func `what the server refuses for good is asked once a day, and never cleared`(
        code: CloakroomError.Code
    ) async throws {
        let refused = CloakroomError(code, "no")
        await fixture.add(asset, cached: "bytes")
        await fixture.fail("request", refused, refused)
        #expect(await handle(fixture.recovery()) == .postponed(refused))
        #expect(await fixture.takeLog() == ["cache", "write expired", "request 5 ✗", "write expired \(code)"])
        time.pass(.seconds(86_399))
        let again = try await fixture.recovery().resume()
        #expect(again.map(\.outcome.code) == [code])
        #expect(await fixture.takeLog() == ["read", "cache", "write expired \(code)"])
        time.pass(.seconds(1))
        #expect(await handle(fixture.recovery()) == .postponed(refused))
        time.pass(.seconds(86_400))
        #expect(await handle(fixture.recovery()) == .recovered(newURL: newURL))
        #expect(await !fixture.log.contains("clear"))
    }

    @Test func `a response that says nothing certain of an earlier upload decides nothing`() async throws {
        await put(expiresAfter: 0)
        await fixture.fail("renew", CloakroomError(.unavailable, "later"))
        #expect(
            try await fixture.recovery().resume().map(\.outcome) == [.postponed(CloakroomError(.unavailable, "later"))])
        #expect(await fixture.log == ["read", "cache", "renew new0.bin ✗"])
    }

    @Test func `cancelled, it goes on another time`() async {
        await fixture.add(asset, cached: "bytes")
        await fixture.fail("put", CancellationError())
        let recovery = await fixture.recovery()
        #expect(await handle(recovery) == .postponed(CloakroomError.cancelled))
        #expect(await handle(recovery) == .recovered(newURL: newURL))
    }
}

extension RecoveryOutcome {
    fileprivate var code: CloakroomError.Code? {
        if case .postponed(let error) = self { error.code } else { nil }
    }
}

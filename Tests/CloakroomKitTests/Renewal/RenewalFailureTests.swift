import Foundation
import Testing

@testable import CloakroomKit

/// What is left after something went wrong, and when it is tried again.
@Suite struct RenewalFailureTests {
    private var app = RenewalFixture()

    init() { app.settings.batchSize = 2 }

    private func failure(_ kind: RenewalFailure.Kind, _ reason: String, count: Int = 1) -> RenewalFailure {
        RenewalFailure(kind: kind, reason: reason, first: app.fake.wallTime, last: app.fake.wallTime, count: count)
    }

    private func fail(_ keys: Set<String>, with error: CloakroomError) async {
        await app.renewer.respond { sent in
            if !keys.isDisjoint(with: sent) { throw error }
            return results(sent)
        }
    }

    @Test func `a batch that fails keeps no other from being renewed`() async throws {
        let error = CloakroomError(.internalError, "internal error", status: 500)
        await fail(["00002.bin"], with: error)
        let report = try await app.manager(images(6)).renewIfNeeded()
        #expect(report.end == .finished)
        #expect(report.error == error)
        #expect(report.renewed == 4)
        #expect(report.failed.map(\.key) == ["00002.bin", "00003.bin"])
        #expect(report.notSent == 0)
        var expected = (0..<6).map { app.fresh("0000\($0).bin") }
        for index in 2...3 {
            expected[index].lastRenewed = nil
            expected[index].failure = failure(.batchFailed, "internal_error")
        }
        #expect(try await app.records() == expected)
    }

    @Test(arguments: [
        CloakroomError(.tooManyRequests, "Too many renewal requests", status: 429, retryAfter: .seconds(600)),
        CloakroomError(.unavailable, "S3 failed", status: 503, retryAfter: .seconds(600)),
    ])
    func `Retry-After is honored, by the next launch, too`(error: CloakroomError) async throws {
        await fail(["00002.bin"], with: error)
        let end = app.fake.wallTime + 600
        let report = try await app.manager(images(6)).renewIfNeeded()
        #expect(report.end == .postponed(until: end))
        #expect(report.error == error)
        #expect(report.renewed == 2)
        #expect(report.failed.count + report.notSent == 4)
        #expect(await app.renewer.takeBatches().count == 2)

        await app.renewer.respond { results($0) }
        app.fake.pass(.seconds(599))
        for run in 0..<2 {
            let manager = try app.manager(images(6))
            let postponed = run == 0 ? await manager.renewIfNeeded() : await manager.forceRenewal()
            #expect(postponed.end == .postponed(until: end))
            #expect(postponed.notSent == (run == 0 ? 4 : 6))
            #expect(postponed.error?.code == .tooManyRequests && postponed.error?.retryAfter == .seconds(1))
        }
        #expect(await app.renewer.takeBatches() == [])

        app.fake.pass(.seconds(1))
        let late = try await app.manager(images(6)).renewIfNeeded()
        #expect(late.end == .finished)
        #expect(late.renewed == 4)
        #expect(late.notDue == 2)
    }

    @Test func `a limit says nothing about the keys it hit`() async throws {
        await fail(["00000.bin"], with: CloakroomError(.tooManyRequests, "Too many renewal requests", status: 429))
        let report = try await app.manager(images(2)).renewIfNeeded()
        #expect(report.end == .postponed(until: app.fake.wallTime + 900))
        #expect(report.failed == [])
        #expect(report.notSent == 2)
        #expect(try await app.records() == [])
    }

    @Test func `a pause from before the clock was set back is none`() async throws {
        app.fake.setWallClock(ahead: .days(30))
        await fail(["00000.bin"], with: CloakroomError(.tooManyRequests, "slow", retryAfter: .days(9)))
        #expect(
            try await app.manager(images(1)).renewIfNeeded().end == .postponed(until: app.fake.wallTime + 86_400))
        app.fake.setWallClock(ahead: .zero)
        await app.renewer.respond { results($0) }
        #expect(try await app.manager(images(1)).renewIfNeeded().renewed == 1)
    }

    @Test(arguments: [
        CloakroomError.Code.unauthorized, .tokenUnavailable, .forbidden, .userDisabled, .subscriptionRequired,
        .untrusted, .notAllowedNow, .cancelled,
    ])
    func `a failure that every other batch would share ends the run and says nothing about keys`(
        code: CloakroomError.Code
    )
        async throws
    {
        await fail(["00002.bin"], with: CloakroomError(code, "no"))
        let report = try await app.manager(images(6)).renewIfNeeded()
        #expect(report.end == .stopped)
        #expect(report.error == CloakroomError(code, "no"))
        #expect(report.renewed == 2)
        #expect(report.failed == [])
        #expect(report.notSent == 4)
        #expect(try await app.records() == ["00000.bin", "00001.bin"].map { app.fresh($0) })
    }

    @Test func `without a network three requests are enough`() async throws {
        await fail(Set((0..<100).map { String(format: "%05d.bin", $0) }), with: CloakroomError(.unreachable, "nobody"))
        let report = try await app.manager(images(20)).renewIfNeeded()
        #expect(report.end == .stopped)
        #expect(report.requests == 3)
        #expect(report.failed.count == 6)
        #expect(report.notSent == 14)
        #expect(try await app.records() == [])
    }

    @Test func `a key that makes the server fail is soon alone, and the others are renewed`() async throws {
        var app = app
        app.settings.batchSize = 100
        await fail(["00042.bin"], with: CloakroomError(.unavailable, "S3", status: 503, retryAfter: .seconds(5)))
        for _ in 0..<12 {
            _ = try await app.manager(images(150)).renewIfNeeded()
            app.fake.pass(.seconds(60))
        }
        let left = try await app.records().filter { $0.lastRenewed == nil }
        #expect(left.map(\.key) == ["00042.bin"])
        #expect(await app.renewer.batches.count < 40)
    }

    @Test func `after an outage batches are soon whole again`() async throws {
        var app = app
        app.settings.batchSize = 100
        await app.renewer.respond { _ in throw CloakroomError(.unavailable, "S3", status: 503) }
        for _ in 0..<12 { _ = try await app.manager(images(1_000)).renewIfNeeded() }
        _ = await app.renewer.takeBatches()
        await app.renewer.respond { results($0) }
        let report = try await app.manager(images(1_000)).renewIfNeeded()
        #expect(report.renewed == 1_000)
        #expect(report.requests < 25)
    }

    @Test func `results that cannot be recorded are kept, and renewals continue`() async throws {
        let store = FailingRenewalStore()
        await store.fail(CloakroomError(.diskFull, "full"))
        var app = app
        app.store = store
        let manager = try app.manager(images(6))
        let report = await manager.renewIfNeeded()
        #expect(report.end == .finished)
        #expect(report.error == CloakroomError(.diskFull, "full"))
        #expect(report.renewed == 6)
        #expect(report.unrecorded == 6)
        #expect(try await app.records() == [])

        // Nothing is sent again by this process, and with the next renewal all of it is recorded.
        app.fake.pass(.days(1))
        #expect(await manager.renewIfNeeded().notDue == 6)
        await store.fail(nil)
        let next = await manager.forceRenewal()
        #expect(next.unrecorded == 0)
        #expect(try await app.records() == (0..<6).map { app.fresh("0000\($0).bin") })
    }

    @Test func `a pause that cannot be recorded holds as long as the process lives`() async throws {
        let store = FailingRenewalStore()
        await store.fail(CloakroomError(.diskFull, "full"))
        var app = app
        app.store = store
        await fail(["00000.bin"], with: CloakroomError(.tooManyRequests, "slow", retryAfter: .seconds(60)))
        let manager = try app.manager(images(1))
        let end = app.fake.wallTime + 60
        #expect(await manager.renewIfNeeded().end == .postponed(until: end))
        #expect(await manager.renewIfNeeded().end == .postponed(until: end))
        #expect(await app.renewer.batches.count == 1)
    }
}

import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// What the shipped client does wrong, and ours must not.
@Suite struct ShippedClientBugTests {
    private let app = RenewalFixture()

    @Test(arguments: [
        (RenewalResult.Outcome.failed(reason: "internal_error"), RenewalFailure.Kind.failed),
        (.refused(reason: "invalid_key"), .refused), (.refused(reason: "archived"), .refused),
        (.refused(reason: "forbidden"), .refused), (.notFound, .notFound),
    ])
    func `a key that was not renewed is not recorded as renewed`(
        outcome: RenewalResult.Outcome, kind: RenewalFailure.Kind
    ) async throws {
        await app.renewer.respond { results($0, ["bad": outcome]) }
        _ = try await app.manager([image("bad"), image("good")]).renewIfNeeded()
        let records = try await app.records()
        #expect(records.map(\.key) == ["bad", "good"])
        #expect(records.map(\.lastRenewed) == [nil, app.fake.wallTime])
        #expect(records.map(\.failure?.kind) == [kind, nil])
    }

    @Test func `a key that failed is tried at the next launch, and not in 15 days`() async throws {
        await app.renewer.respond { results($0, ["bad": .failed(reason: "internal_error")]) }
        _ = try await app.manager([image("bad"), image("good")]).renewIfNeeded()
        await app.renewer.respond { results($0) }
        let report = try await app.manager([image("bad"), image("good")]).renewIfNeeded()
        #expect(await app.renewer.batches == [["bad", "good"], ["bad"]])
        #expect(report.renewed == 1)
        #expect(try await app.records() == [app.fresh("bad"), app.fresh("good")])
    }

    @Test func `a key that is missing from the response is not recorded as renewed`() async throws {
        await app.renewer.respond { keys in results(keys.filter { $0 != "lost" }) }
        let report = try await app.manager([image("lost"), image("good")]).renewIfNeeded()
        #expect(report.failed == [.init(key: "lost", reason: "no response")])
        #expect(try await app.records().map(\.lastRenewed) == [app.fake.wallTime, nil])
    }

    @Test func `what was not requested, or has two results, counts for nothing`() async throws {
        await app.renewer.respond { keys in
            results(keys) + [
                RenewalResult(key: "stranger", outcome: .renewed(expiration: nil)),
                RenewalResult(key: "unclear", outcome: .notFound),
                RenewalResult(key: "same", outcome: .renewed(expiration: nil)),
            ]
        }
        let report = try await app.manager([image("unclear"), image("same")]).renewIfNeeded()
        #expect(report.renewed == 1)
        #expect(report.failed == [.init(key: "unclear", reason: "contradiction")])
        #expect(try await app.records().map(\.key) == ["same", "unclear"])
        #expect(await app.recovery.expired == [])
    }

    @Test func `a forced renewal waits for the run in progress and renews what that did not`() async throws {
        let gate = Gate()
        await app.renewer.respond { keys in
            _ = await gate.pass()
            return results(keys)
        }
        try await app.manager([image("fresh")]).recordUpload(of: image("fresh"))
        let manager = try app.manager([image("due"), image("fresh")])
        async let first = manager.renewIfNeeded()
        try await until { await app.renewer.batches.count == 1 }
        async let forced = manager.forceRenewal()
        async let forcedToo = manager.forceRenewal()
        async let joined = manager.renewIfNeeded()
        await gate.open()
        let reports = await [first, joined]
        let forcedReports = await [forced, forcedToo]
        #expect(await app.renewer.batches == [["due"], ["fresh"]])
        #expect(await app.renewer.mostInFlight == 1)
        #expect(reports[0].renewed == 1)
        #expect(forcedReports[0] == forcedReports[1])
        #expect(forcedReports[0].renewed == 1)
        // What the run in progress has renewed is none of the forced one's, and no longer "not due".
        #expect(forcedReports[0].notDue == 0)
    }

    @Test func `a forced renewal takes no notice of dates`() async throws {
        await app.renewer.respond { results($0, ["no": .refused(reason: "archived")]) }
        let manager = try app.manager([image("yes"), image("no")])
        _ = await manager.renewIfNeeded()
        app.fake.pass(.seconds(5))
        #expect(await manager.renewIfNeeded().requests == 0)
        #expect(await manager.forceRenewal().requests == 1)
        #expect(await app.renewer.batches == [["no", "yes"], ["no", "yes"]])
    }
}

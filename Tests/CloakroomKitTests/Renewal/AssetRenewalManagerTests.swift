import Foundation
import Testing

@testable import CloakroomKit

@Suite struct AssetRenewalManagerTests {
    private let app = RenewalFixture()

    @Test func `an active user's images are renewed on days 15, 30 and 45`() async throws {
        let avatar = RenewableAsset.profileAvatar(
            url: try #require(URL(string: "https://cdn.example.com/me.bin")), conversationID: "c", inboxID: "i")
        let assets = [avatar, image("group.bin")]
        for asset in assets { try await app.manager(assets).recordUpload(of: asset) }
        var days: [Int: Int] = [:]
        for day in 0...50 {
            app.fake.pass(.seconds(Double(day) * 86_400) - app.fake.elapsed)
            let report = try await app.manager(assets).renewIfNeeded()
            #expect(report.end == .finished)
            for batch in await app.renewer.takeBatches() { days[day] = batch.count }
        }
        #expect(days == [15: 2, 30: 2, 45: 2])
    }

    @Test func `after 50 days away, what is gone is recovered`() async throws {
        let assets = [image("mine.bin"), image("alive.bin")]
        _ = try await app.manager(assets).renewIfNeeded()
        app.fake.pass(.days(15))
        _ = try await app.manager(assets).renewIfNeeded()
        app.fake.pass(.days(35))
        await app.renewer.respond { results($0, ["mine.bin": .notFound]) }
        let report = try await app.manager(assets).renewIfNeeded()
        #expect(report.notFound == ["mine.bin"])
        #expect(report.renewed == 1)
        #expect(
            await app.recovery.expired == [.init(asset: assets[0], key: "mine.bin", date: app.fake.wallTime)])
        let day15 = app.fake.wallTime - 35 * 86_400
        #expect(
            try await app.records() == [
                app.fresh("alive.bin"),
                RenewalRecord(
                    key: "mine.bin", lastRenewed: day15,
                    failure: RenewalFailure(
                        kind: .notFound, reason: "not_found", first: app.fake.wallTime, last: app.fake.wallTime,
                        count: 1)),
            ])
    }

    @Test func `what is gone is reported again on another day, once for each asset that shows it`() async throws {
        let assets = [image("a", of: "1"), image("a", of: "2"), image("b")]
        await app.renewer.respond { results($0, ["a": .notFound]) }
        for launches in 1...2 {
            let report = try await app.manager(assets).renewIfNeeded()
            #expect(report.notFound == ["a"])
            #expect(
                await app.recovery.expired.map(\.asset)
                    == Array(repeating: assets[...1], count: launches).flatMap(\.self))
            _ = try await app.manager(assets).renewIfNeeded()
            app.fake.pass(.days(1))
        }
        #expect(await app.renewer.batches == [["a", "b"], ["a"]])
        #expect(await app.recovery.renewed == [assets[2]])
        #expect(await app.recovery.resumptions == 4)
    }

    @Test func `an object is renewed once, and every asset that shows it is`() async throws {
        let one = image("a%2Fb", of: "1")
        let other = RenewableAsset.groupImage(
            url: try #require(URL(string: "https://CDN.example.com:443/a/b?x")), conversationID: "2")
        let report = try await app.manager([one, other, one]).renewIfNeeded()
        #expect(await app.renewer.batches == [["a/b"]])
        #expect(report.assets == 3)
        #expect(report.renewed == 1)
        #expect(await app.recovery.renewed == [one, other, one])
    }

    @Test func `what is elsewhere or has no key is counted and left out`() async throws {
        let elsewhere = RenewableAsset.groupImage(
            url: try #require(URL(string: "https://elsewhere.example/a")), conversationID: "c")
        let report = try await app.manager([elsewhere, image("%FF"), image("a")]).renewIfNeeded()
        var expected = RenewalReport()
        expected.assets = 3
        expected.assetsOutsideBaseURLs = 1
        expected.assetsWithoutKey = 1
        expected.requests = 1
        expected.renewed = 1
        #expect(report == expected)
        #expect(await app.renewer.batches == [["a"]])
    }

    @Test func `10,000 assets take 100 requests, one after the other, and none the day after`() async throws {
        let steps = Log<RenewalProgress>()
        let manager = AssetRenewalManager(
            renewer: app.renewer, collector: AssetCollection(images(10_000)), store: app.store,
            baseURLs: try AssetBaseURLs([try #require(URL(string: "https://cdn.example.com"))]),
            progress: { steps.append($0) }, runtime: app.fake.runtime)
        let report = await manager.renewIfNeeded()
        #expect(report.requests == 100)
        #expect(report.renewed == 10_000)
        #expect(await app.renewer.mostInFlight == 1)
        #expect(steps.all.map(\.requestsDone) == Array(1...100))
        #expect(steps.all.allSatisfy { $0.requestsExpected == 100 && $0.keys == 10_000 })
        #expect(steps.all.map(\.keysDone) == (1...100).map { $0 * 100 })
        app.fake.pass(.days(1))
        let next = await manager.renewIfNeeded()
        #expect(next.requests == 0)
        #expect(next.notDue == 10_000)
    }

    @Test func `what lives shorter is renewed at half its life`() async throws {
        let end = app.fake.wallTime + 6 * 86_400
        await app.renewer.respond { results($0, otherwise: .renewed(expiration: end)) }
        _ = try await app.manager([image("a")]).renewIfNeeded()
        #expect(try await app.records() == [app.fresh("a", expiration: end)])
        var counts: [Int] = []
        for _ in 1...5 {
            app.fake.pass(.days(1))
            counts.append(try await app.manager([image("a")]).renewIfNeeded().requests)
        }
        #expect(counts == [0, 0, 1, 0, 1])
    }

    @Test func `what is refused for good is retried after a day, then each week`() async throws {
        await app.renewer.respond { results($0, ["a": .refused(reason: "archived")]) }
        var days: [Int] = []
        for day in 0...16 {
            let report = try await app.manager([image("a")]).renewIfNeeded()
            if report.requests > 0 {
                days.append(day)
                #expect(report.refused == [.init(key: "a", reason: "archived")])
            }
            app.fake.pass(.days(1))
        }
        #expect(days == [0, 1, 8, 15])
        let record = try #require(try await app.records().first)
        #expect(record.lastRenewed == nil)
        #expect(record.failure?.count == 4)
    }

    @Test func `says what is due when`() async throws {
        let assets = [image("b"), image("a"), image("a", of: "2")]
        await app.renewer.respond { results($0, ["b": .refused(reason: "forbidden")]) }
        let manager = try app.manager(assets)
        let now = app.fake.wallTime
        _ = await manager.renewIfNeeded()
        let expected = [
            AssetSchedule(
                key: "a", assets: [assets[1], assets[2]], lastRenewed: now, due: now + 15 * 86_400, expiration: nil,
                failure: nil),
            AssetSchedule(
                key: "b", assets: [assets[0]], lastRenewed: nil, due: now + 86_400, expiration: nil,
                failure: RenewalFailure(kind: .refused, reason: "forbidden", first: now, last: now, count: 1)),
        ]
        #expect(try await manager.schedule() == expected)
        app.fake.pass(.days(40))
        #expect(try await manager.schedule().map(\.due) == [app.fake.wallTime, app.fake.wallTime])
    }

    @Test func `a clock that was set back does not keep anything from being renewed`() async throws {
        app.fake.setWallClock(ahead: .days(400))
        _ = try await app.manager([image("a")]).renewIfNeeded()
        app.fake.setWallClock(ahead: .zero)
        #expect(try await app.manager([image("a")]).renewIfNeeded().renewed == 1)
        #expect(try await app.manager([image("a")]).renewIfNeeded().notDue == 1)
    }

    @Test func `records that nothing shows any more are forgotten after 90 days`() async throws {
        _ = try await app.manager([image("a"), image("b")]).renewIfNeeded()
        for _ in 0..<9 {
            app.fake.pass(.days(10))
            _ = try await app.manager([image("b")]).renewIfNeeded()
            #expect(try await app.records().map(\.key) == ["a", "b"])
        }
        app.fake.pass(.days(1))
        _ = try await app.manager([image("b")]).renewIfNeeded()
        #expect(try await app.records().map(\.key) == ["b"])
    }

    @Test func `an upload of something that is not ours is not recorded`() async throws {
        let elsewhere = RenewableAsset.groupImage(
            url: try #require(URL(string: "https://elsewhere.example/a")), conversationID: "c")
        await #expect(
            throws: CloakroomError(.invalidRequest, "the asset's URL has no asset key")
        ) { try await app.manager([]).recordUpload(of: elsewhere) }
        #expect(try await app.records() == [])
    }

    @Test func `assets that cannot be collected are an error in the report, and nothing is forgotten`() async throws {
        struct LockedError: Error {}
        _ = try await app.manager([image("a")]).renewIfNeeded()
        app.fake.pass(.days(100))
        let report = try await app.manager(AssetCollection { throw LockedError() }).renewIfNeeded()
        #expect(report.end == .stopped)
        #expect(report.error?.code == .storeFailed)
        #expect(try await app.records().map(\.key) == ["a"])
    }
}

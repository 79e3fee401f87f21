import Foundation
import Testing

@testable import CloakroomKit

@Suite struct ServerClockTests {
    private let fake = FakeRuntime()
    private let clock: ServerClock

    init() { clock = ServerClock(runtime: fake.runtime) }

    private func learn(_ date: String, after trip: Duration = .zero) async {
        let sent = fake.now
        fake.pass(trip)
        await clock.learn(from: HTTPResponse(status: 200, fields: [("date", date)]), sent: sent)
    }

    @Test func `shows our time while nothing is known`() async {
        await learn("yesterday")
        #expect(await clock.now == fake.wallTime)
        #expect(await clock.current == nil)
    }

    @Test func `a clock that agrees with the response is kept as it is`() async {
        fake.pass(.milliseconds(900))
        await learn("Fri, 20 Nov 2026 14:00:00 GMT")
        #expect(await clock.current != nil)
        #expect(await clock.now == fake.wallTime)
    }

    @Test func `a clock that differs is set to the middle of what is possible`() async {
        await learn("Fri, 20 Nov 2026 15:00:00 GMT", after: .seconds(2))
        // Written between 15:00:00 and 15:00:01, up to two seconds ago.
        #expect(await clock.now.timeIntervalSince1970 == 1_795_183_200 + 3600 + 1.5)
    }

    @Test func `setting our clock later changes nothing`() async {
        await learn("Fri, 20 Nov 2026 14:00:00 GMT")
        fake.setWallClock(ahead: .seconds(86_400))
        fake.pass(.seconds(60))
        #expect(await clock.now.timeIntervalSince1970 == 1_795_183_260)
    }

    @Test func `a response that was half a minute on its way is not used`() async {
        await learn("Fri, 20 Nov 2026 15:00:00 GMT", after: .seconds(31))
        #expect(await clock.current == nil)
    }

    @Test(
        arguments: [
            (nil, "yesterday", 0), (nil, "Fri, 20 Nov 2026 14:00:00 GMT", 1), (nil, "Fri, 20 Nov 2026 15:00:00 GMT", 1),
            ("Fri, 20 Nov 2026 15:00:00 GMT", "Fri, 20 Nov 2026 15:00:00 GMT", 0),
            ("Fri, 20 Nov 2026 15:00:00 GMT", "Fri, 20 Nov 2026 15:30:00 GMT", 1),
            ("Fri, 20 Nov 2026 15:00:00 GMT", "Fri, 20 Nov 2026 14:30:00 GMT", 1),
        ] as [(String?, String, Int)])
    func `those who wait are told when the time becomes known, and when it is corrected`(
        known: String?, date: String, count: Int
    ) async {
        var clock: ServerClock? = ServerClock(runtime: fake.runtime)
        func learn(_ date: String) async {
            await clock?.learn(from: HTTPResponse(status: 200, fields: [("date", date)]), sent: fake.now)
        }
        if let known { await learn(known) }
        let changes = clock?.corrections.changes()
        await learn(date)
        clock = nil
        var told = 0
        if let changes { for await _ in changes { told += 1 } }
        #expect(told == count)
    }
}

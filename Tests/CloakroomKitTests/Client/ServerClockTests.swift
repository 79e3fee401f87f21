import Foundation
import Testing

@testable import CloakroomKit

@Suite struct ServerClockTests {
    private let world = TestWorld()
    private let clock: ServerClock

    init() { clock = ServerClock(surroundings: world.surroundings) }

    private func learn(_ date: String, after trip: Duration = .zero) async {
        let sent = world.now
        world.pass(trip)
        await clock.learn(from: HTTPAnswer(status: 200, fields: [("date", date)]), sent: sent)
    }

    @Test func `shows our time while nothing is known`() async {
        await learn("yesterday")
        #expect(await clock.now == world.wallTime)
        #expect(await !clock.isKnown)
    }

    @Test func `a clock that agrees with the answer is kept as it is`() async {
        world.pass(.milliseconds(900))
        await learn("Fri, 20 Nov 2026 14:00:00 GMT")
        #expect(await clock.isKnown)
        #expect(await clock.now == world.wallTime)
    }

    @Test func `a clock that differs is set to the middle of what is possible`() async {
        await learn("Fri, 20 Nov 2026 15:00:00 GMT", after: .seconds(2))
        // Written between 15:00:00 and 15:00:01, up to two seconds ago.
        #expect(await clock.now.timeIntervalSince1970 == 1_795_183_200 + 3600 + 1.5)
    }

    @Test func `setting our clock later changes nothing`() async {
        await learn("Fri, 20 Nov 2026 14:00:00 GMT")
        world.setWallClock(ahead: .seconds(86_400))
        world.pass(.seconds(60))
        #expect(await clock.now.timeIntervalSince1970 == 1_795_183_260)
    }

    @Test func `an answer that was half a minute on its way is not believed`() async {
        await learn("Fri, 20 Nov 2026 15:00:00 GMT", after: .seconds(31))
        #expect(await !clock.isKnown)
    }
}

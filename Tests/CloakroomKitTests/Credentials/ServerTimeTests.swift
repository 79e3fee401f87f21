import Foundation
import Testing

@testable import CloakroomKit

/// What the device's clocks show after so many seconds by the wall clock and by the steady one.
private func reading(_ wall: Double, _ steady: Double) -> ClockReading {
    ClockReading(wallClock: deviceStart + wall, instant: instant.advanced(by: .seconds(steady)))
}

/// Nine hours slow.
private let deviceStart = serverStart - 32_400
private let serverStart = Date(timeIntervalSince1970: 1_795_183_200)
private let instant = ContinuousClock.now

@Suite struct ServerTimeTests {
    @Test(arguments: [Int64.min, .max]) func `damaged records of the steady clock leave the wall clock its say`(
        high: Int64
    ) throws {
        let record = try JSONEncoder().encode(ServerTime(serverStart, at: reading(0, 0)))
        var fields = try #require(try JSONSerialization.jsonObject(with: record) as? [String: Any])
        fields["instant"] = ["_value": [high, 0]]
        let damaged = try JSONDecoder().decode(
            ServerTime.self, from: try JSONSerialization.data(withJSONObject: fields))
        let resumed = damaged.resumed(at: reading(100, 100))
        #expect(resumed?.time(at: reading(100, 100)) == serverStart + 100)
    }

    @Test(arguments: [
        (10, 10, 10, 10),
        (3610, 10, 10, 3610),
        (-3600, 10, 10, 10),
    ])
    func `the steady clock tells the time, and a wall clock that jumped ahead the latest that it may be`(
        wall: Double, steady: Double, time: Double, latest: Double
    ) {
        let now = reading(wall, steady)
        let serverTime = ServerTime(serverStart, at: reading(0, 0))
        #expect(serverTime.time(at: now) == serverStart + time)
        #expect(serverTime.latestTime(at: now) == serverStart + latest)
    }

    @Test(
        arguments: [
            // The clocks agree: the error is still known.
            (100, 100, 100),
            (130, 100, 130),
            // The device started anew: its clock is nine hours slow as it was.
            (5000, -80_000, 5000),
            // Started anew, and somebody corrected the clock.
            (32_400 + 5000, -80_000, 32_400 + 5000),
            // Somebody corrected the clock.
            (32_400 + 100, 100, 32_400 + 100),
            // Frozen for a day, and thawed.
            (86_400, 100, 86_400),
            // Set back: nobody knows.
            (-86_400, 100, nil),
            (-61, -80_000, nil),
        ] as [(Double, Double, Double?)])
    func `after a restart the later opinion counts`(wall: Double, steady: Double, time: Double?) {
        let now = reading(wall, steady)
        let resumed = ServerTime(serverStart, at: reading(0, 0)).resumed(at: now)
        #expect(resumed?.time(at: now) == time.map { serverStart + $0 })
    }

    @Test func `a clock that was fast, and was corrected, makes credentials look no younger`() throws {
        let fast = ClockReading(wallClock: serverStart + 32_400, instant: instant)
        let corrected = ClockReading(wallClock: serverStart + 4000, instant: instant.advanced(by: .seconds(4000)))
        // It went back by nine hours, after 4,000 seconds.
        #expect(ServerTime(serverStart, at: fast).resumed(at: corrected) == nil)
    }

    @Test(
        arguments: [
            (3600, 0, 0, .fresh), (3600, 1799, 1799, .fresh), (3600, 1800, 1800, .due), (3600, 3299, 3299, .due),
            (3600, 3300, 3300, .urgent), (3600, 3599, 3599, .urgent), (3600, 3600, 3600, .ended),
            // The device's clock was set ahead: worth asking, but not ended.
            (3600, 2000, 10, .due), (3600, 90_000, 10, .urgent), (3600, 90_000, 3600, .ended),
            // It was set back.
            (3600, -90_000, 10, .fresh), (3600, -90_000, 3600, .ended),
            // Short-lived.
            (400, 199, 199, .fresh), (400, 200, 200, .urgent), (0, 0, 0, .ended), (-5, 0, 0, .ended),
        ] as [(Double, Double, Double, HeldCredentials.Freshness)])
    func `freshness goes by the server's clock`(
        lifetime: Double, wall: Double, steady: Double, freshness: HeldCredentials.Freshness
    ) {
        let held = HeldCredentials(
            .numbered(0, until: serverStart + lifetime), at: ServerTime(serverStart, at: reading(0, 0)))
        #expect(held.freshness(at: reading(wall, steady)) == freshness)
    }
}

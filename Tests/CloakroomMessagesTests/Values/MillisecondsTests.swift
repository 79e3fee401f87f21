import Foundation
import Testing

@testable import CloakroomMessages

@Suite struct MillisecondsTests {
    @Test func `sums and differences end at the bounds`() {
        #expect(Milliseconds.max.plus(1) == .max)
        #expect(Milliseconds.min.plus(-1) == .min)
        #expect(Milliseconds.min.minus(1) == .min)
        #expect(Milliseconds.max.minus(-1) == .max)
        #expect(Milliseconds(5).minus(7) == -2)
    }

    @Test(
        arguments: [
            (0, 0), (1.2345, 1234), (-3, 0), (1e300, Milliseconds.latestTime), (.infinity, .latestTime),
            (-.infinity, 0), (.nan, 0),
        ] as [(Double, Milliseconds)])
    func `any date is a time`(seconds: Double, time: Milliseconds) {
        #expect(Milliseconds(Date(timeIntervalSince1970: seconds)) == time)
    }

    @Test(
        arguments: [
            (.seconds(2), 2000), (.microseconds(1999), 1), (.microseconds(-1), -1), (.milliseconds(-1500), -1500),
            (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
        ] as [(Duration, Milliseconds)])
    func `any duration is rounded down`(duration: Duration, milliseconds: Milliseconds) {
        #expect(Milliseconds(duration) == milliseconds)
    }
}

import Foundation
import Testing

@testable import CloakroomServer

struct ClockErrorTests {
    @Test(arguments: [
        (5.0, "in the year 1970"), (-86_400, "before 1970"), (1_700_000_000, "in the year 2023"),
        (253_402_300_799, "in the year 9999"), (4_102_444_800, "in the year 2100"),
    ])
    func `a clock that cannot be right is named`(seconds: Double, words: String) throws {
        let fault = try #require(ClockError(now: Date(timeIntervalSince1970: seconds)))
        #expect("\(fault)".hasPrefix("the system clock is \(words): ") && "\(fault)".contains("timedatectl"))
    }

    @Test(arguments: [1_735_689_600.0, 1_800_000_000, 4_102_444_799])
    func `any other is taken`(seconds: Double) {
        #expect(ClockError(now: Date(timeIntervalSince1970: seconds)) == nil)
    }
}

import Foundation
import Testing

@testable import CloakroomKit

struct BackgroundDateTests {
    private let start = Date(timeIntervalSince1970: 1_795_183_200)

    private func next(at hour: Double, due: Double? = nil, pending: Date? = nil) -> Double {
        BackgroundDate.next(
            due: due.map { start + $0 * 3_600 }, interval: .seconds(86_400), pending: pending, now: start + hour * 3_600
        ).timeIntervalSince(start) / 3_600
    }

    @Test func `an app that goes to the background twice a day does not postpone what it has requested`() {
        #expect(next(at: 0) == 24)
        #expect(next(at: 12, pending: start + 24 * 3_600) == 24)
        #expect(next(at: 30, pending: start + 24 * 3_600) == 24)
    }

    @Test func `work begins when it is due, and earlier than requested where it is due earlier`() {
        #expect(next(at: 0, due: 1) == 1)
        #expect(next(at: 0, due: 1, pending: start + 24 * 3_600) == 1)
        #expect(next(at: 0, due: 30, pending: start + 24 * 3_600) == 24)
    }
}

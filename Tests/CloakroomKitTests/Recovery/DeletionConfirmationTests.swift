import Foundation
import Testing

@testable import CloakroomKit

@Suite struct DeletionConfirmationTests {
    /// Midnight in UTC.
    static let midnight = Date(timeIntervalSince1970: 1_795_132_800)

    private static let looks: [(Double, Double, Duration?, Bool)] = [
        (-3600.0, 3600.0, nil, false),  // two hours, over midnight
        (0, 12 * 3600, nil, false),  // twelve hours of one day
        (0, 86_399, nil, false),
        (-1, 12 * 3600 - 2, nil, false),
        (-1, 12 * 3600 - 1, nil, true),
        (0, 86_400, nil, true),
        (0, 86_400, Duration.seconds(86_400), true),
        (0, 86_400, .seconds(60), false),  // the clock was set
        (0, -86_400, nil, false),
    ]

    @Test(arguments: looks)
    func `another day is another day of UTC and twelve hours away`(
        first: Double, second: Double, elapsed: Duration?, expected: Bool
    ) {
        let isAnotherDay = DeletionConfirmation.isAnotherDay(
            first: Self.midnight + first, second: Self.midnight + second, elapsed: elapsed)
        #expect(isAnotherDay == expected)
    }

    @Test(arguments: [(-1, true), (0, false), (90 * 86_400, false), (90 * 86_400 + 1, true)] as [(Double, Bool)])
    func `a first look in the future, or too long ago, is none`(later: Double, expected: Bool) {
        #expect(DeletionConfirmation.isVoid(first: Self.midnight, now: Self.midnight + later) == expected)
    }
}

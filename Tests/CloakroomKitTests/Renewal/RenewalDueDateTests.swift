import Foundation
import Testing

@testable import CloakroomKit

@Suite struct RenewalDueDateTests {
    private let settings = AssetRenewalSettings()
    private let now = Date(timeIntervalSince1970: 1_795_183_200)

    private func day(_ number: Double) -> Date { now + number * 86_400 }

    @Test(
        arguments: [
            // lastRenewed, expiration, due: in days from now
            (-1, nil, 14),
            (-1, 29, 14),
            (-15, nil, 0),
            // Half of what it has to live is less.
            (-1, 19, 9),
            (-1, 0, -0.5),
            (-1, 365, 14),
            // It cannot have expired when it was renewed: the two clocks disagree.
            (-1, -1, 14), (-1, -400, 14),
            // The clock was set back, by seconds and by days.
            (0.01, 30.01, 15.01),
            (2, 32, nil), (400, nil, nil),
        ] as [(Double, Double?, Double?)])
    func `a renewed key is due after 15 days, or half of its life`(last: Double, end: Double?, due: Double?) {
        let record = RenewalRecord(key: "a", lastRenewed: day(last), expiration: end.map(day))
        let found = settings.dueDate(of: record, now: now)
        #expect(abs(found.timeIntervalSince(due.map(day) ?? .distantPast)) < 0.001)
    }

    @Test(
        arguments: [
            (.notFound, 1, -0.01, 1.0 / 24 - 0.01), (.notFound, 9, -0.01, 1.0 / 24 - 0.01),
            (.refused, 1, -0.5, 0.5), (.refused, 2, -0.5, 6.5), (.refused, 9, -0.5, 6.5),
            (.failed, 1, -0.01, nil), (.batchFailed, 9, -0.01, nil),
            // The clock was set back.
            (.refused, 2, 3, nil), (.notFound, 2, 3, nil),
        ] as [(RenewalFailure.Kind, Int, Double, Double?)])
    func `a key that failed waits as long as asking again is of no use`(
        kind: RenewalFailure.Kind, count: Int, last: Double, due: Double?
    ) {
        let failure = RenewalFailure(kind: kind, reason: "r", first: day(-20), last: day(last), count: count)
        for lastRenewed in [nil, day(-16)] {
            let found = settings.dueDate(
                of: RenewalRecord(key: "a", lastRenewed: lastRenewed, failure: failure), now: now)
            let expected = due.map(day) ?? lastRenewed.map { $0 + 15 * 86_400 } ?? .distantPast
            #expect(abs(found.timeIntervalSince(expected)) < 0.001)
        }
    }

    @Test func `what is unknown is due`() {
        #expect(settings.dueDate(of: nil, now: now) == .distantPast)
        #expect(settings.dueDate(of: RenewalRecord(key: "a"), now: now) == .distantPast)
    }
}

import CloakroomHTTP
import Testing

@testable import CloakroomServer

struct EventRetryTests {
    private let retry = EventRetry(timeout: .seconds(5))

    @Test(arguments: [(1, 1), (2, 2), (5, 16), (10, 512), (11, 900), (100, 900), (1000, 900)])
    func `waits for the attempt's end, and then twice as long each time, up to a quarter of an hour`(
        attempts: Int, full: Int
    ) {
        for entry in 0..<50 {
            let delay = retry.delay(afterAttempts: attempts, of: "1800000000000-\(entry)")
            #expect(delay >= .seconds(5) + .seconds(full) / 2 && delay <= .seconds(5 + full))
            #expect(delay >= retry.minimumDelay)
        }
    }

    @Test func `spreads the attempts of events that failed at once`() {
        let delays = Set((0..<100).map { retry.delay(afterAttempts: 10, of: "1800000000000-\($0)") })
        #expect(delays.count > 90)
    }

    @Test func `all workers agree when an event is due`() {
        let delay = retry.delay(afterAttempts: 3, of: "1-0")
        #expect(delay == EventRetry(timeout: .seconds(5)).delay(afterAttempts: 3, of: "1-0"))
        #expect(retry.isDue(EventStream.Pending(id: "1-0", idle: delay, attempts: 3)))
        #expect(!retry.isDue(EventStream.Pending(id: "1-0", idle: delay - .milliseconds(1), attempts: 3)))
    }

    private static let statuses: [(Int, EventDeliveryLabel, Bool)] = [
        (200, .delivered, false), (204, .delivered, false), (301, .refused, false),
        (400, .refused, false), (410, .refused, false), (408, .unavailable, true), (429, .unavailable, true),
        (500, .unavailable, true), (503, .unavailable, true),
    ]

    @Test(arguments: statuses)
    func `a status says whether others would fare better`(status: Int, label: EventDeliveryLabel, isAway: Bool) {
        #expect(EventDeliveryLabel(status: status) == label)
        #expect(label.isAway == isAway)
    }

    @Test func `no response says that the webhook is unreachable`() {
        let expected: [(TransportError, EventDeliveryLabel)] = [
            (.unreachable, .unreachable), (.untrusted, .untrusted), (.timeout, .timeout), (.interrupted, .interrupted),
            (.tooLarge, .interrupted),
        ]
        for (error, label) in expected {
            #expect(EventDeliveryLabel(error) == label)
            #expect(label.isAway)
        }
    }

    @Test func `the next entry is the least one behind`() {
        #expect(EventStream.next("1800000000000-7") == "1800000000000-8")
    }
}

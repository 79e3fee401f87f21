import HTTPValues
import Testing

@testable import Service

struct LocalWindowsTests {
    private let limit = Settings.Limit(requests: 2, window: .seconds(10), whenRedisIsAway: .open)
    private static let second: UInt64 = 1_000_000_000

    private func decision(_ verdict: LimitDecision.Verdict, left: Int, _ reset: Duration) -> LimitDecision {
        LimitDecision(verdict: verdict, remaining: left, reset: reset)
    }

    @Test func `counts in windows that begin with the first request`() {
        var windows = LocalWindows(capacity: 10)
        let decisions = [5, 6, 7, 14, 15].map { windows.take("a", limit: limit, now: $0 * Self.second) }
        #expect(
            decisions == [
                decision(.open, left: 1, .seconds(10)), decision(.open, left: 0, .seconds(9)),
                decision(.openRefused, left: 0, .seconds(8)), decision(.openRefused, left: 0, .seconds(1)),
                decision(.open, left: 1, .seconds(10)),
            ])
        #expect(windows.take("b", limit: limit, now: 15 * Self.second).remaining == 1)
    }

    @Test func `forgets what is over before it forgets what is not, and locks nobody out`() {
        var windows = LocalWindows(capacity: 3)
        for (name, time) in [("old", 0), ("a", 5), ("b", 6)] as [(String, UInt64)] {
            _ = windows.take(name, limit: limit, now: time * Self.second)
        }
        // "old" is over: there is room.
        #expect(windows.take("c", limit: limit, now: 11 * Self.second).remaining == 1)
        #expect(windows.take("a", limit: limit, now: 11 * Self.second).remaining == 0)
        #expect(windows.take("d", limit: limit, now: 12 * Self.second).verdict == .open)
    }

    @Test(arguments: [
        (LimitDecision.Verdict.allowed, ["RateLimit-Policy: \"renew\";q=2;w=10", "RateLimit: \"renew\";r=1;t=2"]),
        (.open, ["RateLimit-Policy: \"renew\";q=2;w=10", "RateLimit: \"renew\";r=1;t=2"]),
        (.refused, ["RateLimit-Policy: \"renew\";q=2;w=10", "RateLimit: \"renew\";r=1;t=2", "Retry-After: 2"]),
        (.openRefused, ["RateLimit-Policy: \"renew\";q=2;w=10", "RateLimit: \"renew\";r=1;t=2", "Retry-After: 2"]),
        (.closed, ["Retry-After: 2"]),
    ])
    func `tells the client in fields`(verdict: LimitDecision.Verdict, expected: [String]) {
        var fields = HeaderFields()
        fields.add(.renew, policy: limit.policy(named: .renew), decision(verdict, left: 1, .milliseconds(1001)))
        #expect(fields.map { "\($0.name): \($0.value)" } == expected)
    }
}

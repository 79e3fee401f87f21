import CloakroomHTTP
import Testing

@testable import CloakroomServer

struct LocalRateLimiterTests {
    private static let second: UInt64 = 1_000_000_000

    private static func limits(_ quota: Int, keys: Int = 10, keySeconds: Int = 20) -> Settings.Limits {
        let limit = Settings.Limit(quota: quota, window: .seconds(10), whenRedisIsAway: .open)
        let quantity = Settings.Limit(quota: keys, window: .seconds(keySeconds), whenRedisIsAway: .open)
        return Settings.Limits(
            renew: limit, renewKeys: quantity, release: limit, releaseKeys: quantity, vend: limit, upload: limit,
            uploadBytes: quantity, session: limit,
            notification: limit)
    }

    private func window(_ remaining: Int, _ left: Duration) -> RateLimitDecision.Window {
        RateLimitDecision.Window(remaining: remaining, left: .milliseconds(left.milliseconds))
    }

    @Test func `counts in windows that begin with the first request`() {
        var windows = LocalRateLimiter(capacity: 10)
        let terms = RateLimitPolicy(.vend, Self.limits(2))
        let decisions = [5, 6, 7, 14, 15].map { windows.count(.vend, "a", by: terms, now: $0 * Self.second) }
        #expect(decisions.map(\.verdict) == [.open, .open, .openRefused, .openRefused, .open])
        #expect(
            decisions.map(\.requests) == [
                window(1, .seconds(10)), window(0, .seconds(9)), window(0, .seconds(8)), window(0, .seconds(1)),
                window(1, .seconds(10)),
            ])
        #expect(decisions.map(\.refusing) == [nil, nil, .vend, .vend, nil])
        #expect(windows.count(.vend, "b", by: terms, now: 15 * Self.second).requests.remaining == 1)
    }

    @Test func `takes from both windows or from none`() {
        var windows = LocalRateLimiter(capacity: 10)
        let terms = RateLimitPolicy(.renew, Self.limits(4))
        let costs = [7, 4, 3, 1, 0, 0]
        let decisions = costs.map { windows.count(.renewal(keys: $0), "a", by: terms, now: 0) }
        #expect(decisions.map(\.refusing) == [nil, .renewKeys, nil, .renewKeys, nil, nil])
        #expect(decisions.map(\.requests.remaining) == [3, 3, 2, 2, 1, 0])
        #expect(decisions.map(\.quantity?.remaining) == [3, 3, 0, 0, 0, 0])
        // Both windows refuse: who comes back before the later one ends comes in vain.
        let last = windows.count(.renewal(keys: 1), "a", by: terms, now: Self.second)
        #expect(last.refusing == .renewKeys && last.wait == .milliseconds(19_000))
        let later = windows.count(.renewal(keys: 0), "a", by: terms, now: Self.second)
        #expect(later.refusing == .renew && later.wait == .milliseconds(9_000))
    }

    @Test func `gives back all of a request or its keys alone, and leaves windows alone that have ended`() {
        var windows = LocalRateLimiter(capacity: 10)
        let terms = RateLimitPolicy(.renew, Self.limits(4))
        let cost = RateLimitCost.renewal(keys: 6)
        func left(at time: UInt64) -> [Int?] {
            // Counts no keys: the windows stay as they are but for one request.
            let decision = windows.count(.renewal(keys: 0), "a", user: "u", by: terms, now: time * Self.second)
            return [
                decision.requests.remaining, decision.quantity?.remaining, decision.userRequests.remaining,
                decision.userQuantity?.remaining,
            ]
        }
        _ = windows.count(cost, "a", user: "u", by: terms, now: 0)
        windows.refund(.quantity, of: cost, "a", user: "u", now: 0)
        #expect(left(at: 0) == [2, 10, 14, 40])
        _ = windows.count(cost, "a", user: "u", by: terms, now: 0)
        windows.refund(.all, of: cost, "a", user: "u", now: 0)
        #expect(left(at: 0) == [1, 10, 13, 40])
        // Those of the requests have ended.
        windows.refund(.all, of: cost, "a", user: "u", now: 10 * Self.second)
        #expect(left(at: 11) == [3, 10, 15, 40])
    }

    @Test func `lets in what is given up beyond a window of requests, as many again`() {
        var windows = LocalRateLimiter(capacity: 10)
        let terms = RateLimitPolicy(.upload, Self.limits(2))
        let costs: [RateLimitCost] = [
            .upload(bytes: 0), .uploadGivenUp, .upload(bytes: 0), .uploadGivenUp, .uploadGivenUp, .uploadGivenUp,
        ]
        let decisions = costs.map { windows.count($0, "a", by: terms, now: 0) }
        #expect(decisions.map(\.verdict) == [.open, .open, .openRefused, .open, .open, .openRefused])
        #expect(decisions.map(\.requests.remaining) == [1, 0, 0, 0, 0, 0])
    }

    @Test func `never lets in what is larger than a window`() {
        var windows = LocalRateLimiter(capacity: 10)
        let terms = RateLimitPolicy(.upload, Self.limits(4, keys: 1000))
        #expect(windows.count(.upload(bytes: .max), "a", by: terms, now: 0).refusing == .uploadBytes)
        #expect(windows.count(.upload(bytes: 1000), "a", by: terms, now: 0).quantity?.remaining == 0)
    }

    @Test func `all devices of a user together have four times as much as one`() {
        var windows = LocalRateLimiter(capacity: 100)
        let terms = RateLimitPolicy(.renew, Self.limits(1, keys: 3))
        let decisions = (1...5).map { windows.count(.renewal(keys: 1), "device \($0)", user: "u", by: terms, now: 0) }
        #expect(decisions.map(\.userRequests.remaining) == [3, 2, 1, 0, 0])
        #expect(decisions.map(\.refusesUser) == [false, false, false, false, true])
        #expect(decisions.map(\.verdict) == [.open, .open, .open, .open, .openRefused])
        // The device that was refused by its user's window has its own untouched.
        #expect(decisions[4].requests.remaining == 1 && decisions[4].userQuantity?.remaining == 8)
    }

    @Test func `forgets what is over before it forgets what is not, and locks nobody out`() {
        var windows = LocalRateLimiter(capacity: 6)
        let terms = RateLimitPolicy(.vend, Self.limits(2))
        func count(_ name: String, at time: UInt64) -> RateLimitDecision {
            windows.count(.vend, name, by: terms, now: time * Self.second)
        }
        for (name, time) in [("old", 0), ("a", 5), ("b", 6)] as [(String, UInt64)] { _ = count(name, at: time) }
        // "old" is over: there is room.
        #expect(count("c", at: 11).requests.remaining == 1)
        #expect(count("a", at: 11).requests.remaining == 0)
        #expect(count("d", at: 12).verdict == .open)
    }

    @Test func `counts a request that fills the table with its windows`() {
        var windows = LocalRateLimiter(capacity: 6)
        for name in ["a", "b"] { _ = windows.count(.vend, name, by: RateLimitPolicy(.vend, Self.limits(4)), now: 0) }
        let terms = RateLimitPolicy(.renew, Self.limits(4))
        let decisions = (1...2).map { _ in windows.count(.renewal(keys: 3), "c", by: terms, now: 0) }
        #expect(decisions.map(\.requests.remaining) == [3, 2])
        #expect(decisions.map(\.quantity?.remaining) == [7, 4])
    }

    @Test func `terms differ by each of their quotas`() {
        func terms(_ quota: RateLimitPolicy.Quota = .init(), _ quantity: RateLimitPolicy.Quota = .init())
            -> RateLimitPolicy
        {
            RateLimitPolicy(.renew, Self.limits(4), quota: quota, quantity: quantity)
        }
        #expect(terms().hasQuotas(of: terms(.init(4), .init(10))))
        for other in [
            terms(.init(5, user: 16)), terms(.init(user: 17)), terms(.init(), .init(11, user: 40)),
            terms(.init(), .init(user: 41)),
        ] { #expect(!terms().hasQuotas(of: other), "\(other.field)") }
    }

    private static let policy =
        #"RateLimit-Policy: "renew";q=2;w=10, "renewKeys";q=10;w=20;qu="keys", "#
        + #""renewUser";q=8;w=10, "renewKeysUser";q=40;w=20;qu="keys""#

    private static func told(_ requests: Int, _ keys: Int) -> String {
        #"RateLimit: "renew";r=\#(requests);t=2, "renewKeys";r=\#(keys);t=2, "#
            + #""renewUser";r=\#(requests + 6);t=2, "renewKeysUser";r=\#(keys + 30);t=2"#
    }

    @Test(arguments: [
        (1, false, [policy, told(0, 2)]),
        (1, true, [policy, told(0, 2)]),
        (4, false, [policy, told(1, 3), "Retry-After: 2"]),
        (4, true, [policy, told(1, 3), "Retry-After: 2"]),
    ])
    func `tells the client in fields`(keys: Int, isLocal: Bool, expected: [String]) {
        var fields = HeaderFields()
        let terms = RateLimitPolicy(.renew, Self.limits(2))
        let pair = RateLimitCount.Pair(
            requests: .init(used: 1, left: .milliseconds(1500)), quantity: .init(used: 7, left: .milliseconds(1001)))
        let count = RateLimitCount(device: pair, user: pair)
        let decision = RateLimitDecision(.renewal(keys: keys), count, by: terms, isLocal: isLocal)
        fields.add(terms, decision)
        #expect(fields.map { "\($0.name): \($0.value)" } == expected)
    }

    @Test func `tells of no window that nobody counted`() {
        var fields = HeaderFields()
        fields.add(RateLimitPolicy(.renew, Self.limits(2)), .closed)
        #expect(fields.map { "\($0.name): \($0.value)" } == ["Retry-After: 1"])
    }
}

import CloakroomAWS
import Testing

@testable import CloakroomServer

struct RoleBreakerTests {
    private static let start = ContinuousClock.now
    private static let failure = STSError.unavailable(retryAfter: nil, code: "x")

    /// - Parameter failures: at the start, one after the other.
    private static func breaker(after failures: Int) -> RoleBreaker {
        var breaker = RoleBreaker()
        for _ in 0..<failures {
            breaker.starts()
            breaker.ended(with: failure, at: start)
        }
        return breaker
    }

    @Test func `opens after enough failures in a row, for a while`() {
        let closed = Self.breaker(after: RoleBreaker.threshold - 1)
        #expect(closed.refusal(at: Self.start) == nil)
        let opened = Self.breaker(after: RoleBreaker.threshold)
        #expect(opened.refusal(at: Self.start) == RoleBreaker.pause)
        #expect(opened.refusal(at: Self.start + .milliseconds(400)) == .milliseconds(600))
        #expect(opened.refusal(at: Self.start + RoleBreaker.pause) == nil)
    }

    @Test(
        arguments: [nil, .refused(status: 403, code: "AccessDenied"), .unusable(code: "NoExpiration")] as [STSError?])
    func `stays closed while anything comes back`(response: STSError?) {
        var breaker = Self.breaker(after: RoleBreaker.threshold - 1)
        breaker.ended(with: response, at: Self.start)
        for _ in 1..<RoleBreaker.threshold { breaker.ended(with: Self.failure, at: Self.start) }
        #expect(breaker.refusal(at: Self.start) == nil)
    }

    @Test func `lets one call through at a time until one succeeds`() {
        var breaker = Self.breaker(after: RoleBreaker.threshold)
        var time = Self.start + RoleBreaker.pause
        breaker.starts()
        #expect(breaker.refusal(at: time) == RoleBreaker.pause, "one is under way")
        breaker.ended(with: Self.failure, at: time)
        #expect(breaker.refusal(at: time) == RoleBreaker.pause)
        time += RoleBreaker.pause
        #expect(breaker.refusal(at: time) == nil)
        breaker.starts()
        breaker.ended(with: nil, at: time)
        #expect(breaker.refusal(at: time) == nil)
        breaker.starts()
        #expect(breaker.refusal(at: time) == nil, "closed, as many as there are")
    }

    @Test func `lets the next one through where the client went away`() {
        var breaker = Self.breaker(after: RoleBreaker.threshold)
        let time = Self.start + RoleBreaker.pause
        breaker.starts()
        breaker.ended(with: .cancelled, at: time)
        #expect(breaker.refusal(at: time) == nil)
    }
}

import CloakroomAWS
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct CopyConcurrencyLimiterTests {
    private static let start = ContinuousClock.now

    private func attempt(_ kind: AWSError.Kind? = nil, service: Attempt.Service = .s3) -> Attempt {
        Attempt(
            service: service, fault: kind.map { AWSError($0, code: "x") },
            duration: .milliseconds(50))
    }

    @Test @LoopActor func `halves when slowed, once for all that were on the way, and grows back one at a time`() throws
    {
        let metrics = try Metrics()
        let copyLimiter = CopyConcurrencyLimiter(maximum: 16, metrics: metrics)
        var shown: UInt64 { metrics.row[metrics.layout.allowedCopies.index] }
        #expect(copyLimiter.current == 16 && shown == 16)
        // All sixteen are slowed within the fifty milliseconds that they take.
        for milliseconds in 0..<16 {
            copyLimiter.observe(attempt(.throttled), now: Self.start + .milliseconds(milliseconds))
        }
        #expect(copyLimiter.current == 8 && shown == 8)
        copyLimiter.observe(attempt(.throttled), now: Self.start + .milliseconds(51))
        #expect(copyLimiter.current == 4)
        for _ in 0..<5 { copyLimiter.observe(attempt()) }
        #expect(copyLimiter.current == 5 && shown == 5)
        for _ in 0..<1000 { copyLimiter.observe(attempt()) }
        #expect(copyLimiter.current == 16 && shown == 16)
    }

    @Test @LoopActor func `never stops, and minds nothing but S3's word`() throws {
        let copyLimiter = CopyConcurrencyLimiter(maximum: 4, metrics: try Metrics())
        for kind in AWSError.Kind.allCases where kind != .throttled { copyLimiter.observe(attempt(kind)) }
        copyLimiter.observe(attempt(.throttled, service: .sts))
        #expect(copyLimiter.current == 4)
        for second in 0..<10 { copyLimiter.observe(attempt(.throttled), now: Self.start + .seconds(second)) }
        #expect(copyLimiter.current == 1)
    }
}

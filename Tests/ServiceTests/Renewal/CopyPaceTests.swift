import AWS
import Loop
import Support
import Testing

@testable import Service

@Suite(.onLoop)
struct CopyPaceTests {
    private static let start = ContinuousClock.now

    private func attempt(_ kind: Fault.Kind? = nil, service: Attempt.Service = .s3) -> Attempt {
        Attempt(
            service: service, operation: .copyObject, number: 0, fault: kind.map { Fault($0, code: "x") },
            duration: .milliseconds(50))
    }

    @Test @LoopActor func `halves when slowed, once for all that were on the way, and grows back one at a time`() throws
    {
        let metrics = try Metrics()
        let pace = CopyPace(maximum: 16, metrics: metrics)
        var shown: UInt64 { metrics.row[metrics.layout.allowedCopies] }
        #expect(pace.current == 16 && shown == 16)
        // All sixteen are slowed within the fifty milliseconds that they take.
        for milliseconds in 0..<16 {
            pace.observe(attempt(.throttled), now: Self.start + .milliseconds(milliseconds))
        }
        #expect(pace.current == 8 && shown == 8)
        pace.observe(attempt(.throttled), now: Self.start + .milliseconds(51))
        #expect(pace.current == 4)
        for _ in 0..<5 { pace.observe(attempt()) }
        #expect(pace.current == 5 && shown == 5)
        for _ in 0..<1000 { pace.observe(attempt()) }
        #expect(pace.current == 16 && shown == 16)
    }

    @Test @LoopActor func `never stops, and minds nothing but S3's word`() throws {
        let pace = CopyPace(maximum: 4, metrics: try Metrics())
        for kind in Fault.Kind.allCases where kind != .throttled { pace.observe(attempt(kind)) }
        pace.observe(attempt(.throttled, service: .sts))
        #expect(pace.current == 4)
        for second in 0..<10 { pace.observe(attempt(.throttled), now: Self.start + .seconds(second)) }
        #expect(pace.current == 1)
    }
}

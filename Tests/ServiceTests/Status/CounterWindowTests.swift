import Testing

@testable import CloakroomServer

struct CounterWindowTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func `counts what came in the last minute and no more`() {
        var window = CounterWindow()
        // One a second, for five minutes.
        for second in 0...300 as ClosedRange<UInt64> { window.note([100 + second], at: second * Self.second) }
        let (values, nanoseconds) = window.counted([400], at: 300 * Self.second)
        #expect((60...65).contains(nanoseconds / Self.second))
        #expect(values == [nanoseconds / Self.second])
    }

    @Test func `what the worker before it counted is not its own`() {
        var window = CounterWindow()
        #expect(window.counted([7], at: 0).values == [0])
        window.note([7], at: 0)
        let (values, nanoseconds) = window.counted([9], at: 3 * Self.second)
        #expect(values == [2] && nanoseconds == 3 * Self.second)
    }

    @Test func `percentiles lie within their buckets`() {
        let layout = MetricsLayout()
        let base = layout.upstreamDurations[.sts]
        func durations(_ counts: [Int: UInt64]) -> MetricsLayout.Durations {
            var values = [UInt64](repeating: 0, count: layout.count)
            for (bucket, count) in counts { values[base + bucket] = count }
            return layout.durations(at: [base], in: values)
        }
        #expect(durations([:]) == .init(count: 0, p50: nil, p99: nil))
        // 0.5 to 1 ms.
        #expect(durations([1: 100]) == .init(count: 100, p50: 750, p99: 995))
        #expect(durations([0: 98, 4: 2]) == .init(count: 100, p50: 255, p99: 7500))
        // Beyond the last bound.
        #expect(durations([14: 1]) == .init(count: 1, p50: 10_000_000, p99: 10_000_000))
    }
}

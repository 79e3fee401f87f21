import CloakroomLoad
import Testing

struct LatencyHistogramTests {
    @Test(arguments: [0, 1, 127, 128, 129, 1000, 65_535, 1_000_000, 123_456_789, 60_000_000_000, UInt64.max])
    func `tells a value to 0.4 %`(value: UInt64) {
        var histogram = LatencyHistogram()
        histogram.record(value)
        // Two more, so that the value is neither extreme, which are kept as they are.
        histogram.record(0)
        histogram.record(.max)
        let found = histogram.percentile(50)
        #expect(abs(Double(found) - Double(value)) <= Double(value) * 0.004)
    }

    @Test func `percentiles of evenly spread values are right to 0.4 %`() {
        var histogram = LatencyHistogram()
        for value in 1...100_000 { histogram.record(UInt64(value) * 1000) }
        for percent in [1, 25, 50, 90, 99, 99.9] {
            let exact = percent / 100 * 100_000_000
            #expect(abs(Double(histogram.percentile(percent)) - exact) <= exact * 0.004)
        }
        #expect(histogram.percentile(100) == 100_000_000)
        #expect(histogram.minimum == 1000)
        #expect(histogram.mean == 50_000_500)
    }

    @Test func `of 1,000 values the largest alone is beyond p99.9`() {
        var histogram = LatencyHistogram()
        for _ in 1...999 { histogram.record(1_000_000) }
        histogram.record(10_000_000_000)
        #expect(abs(Double(histogram.percentile(99.9)) - 1_000_000) <= 4000)
        #expect(histogram.percentile(100) == 10_000_000_000)
    }

    @Test func `nothing recorded is zero`() {
        let histogram = LatencyHistogram()
        #expect(histogram.percentile(99) == 0)
        #expect(histogram.mean == 0)
        #expect(histogram.buckets.isEmpty)
    }

    @Test func `two histograms added are one of all values`() {
        var (left, right, all) = (LatencyHistogram(), LatencyHistogram(), LatencyHistogram())
        for value in stride(from: UInt64(50), to: 5_000_000, by: 777) {
            left.record(value)
            all.record(value)
        }
        for value in stride(from: UInt64(3_000_000_000), to: 4_000_000_000, by: 1_111_111) {
            right.record(value)
            all.record(value)
        }
        left.add(right)
        left.add(LatencyHistogram())
        #expect(left == all)
    }

    @Test func `buckets cover every value once`() {
        var histogram = LatencyHistogram()
        for value: UInt64 in [5, 127, 128, 255, 256, 257, 258, 1 << 40] { histogram.record(value) }
        let buckets = histogram.buckets
        #expect(buckets.map(\.count) == [1, 1, 1, 1, 2, 1, 1])
        #expect(zip(buckets, buckets.dropFirst()).allSatisfy { $0.range.upperBound <= $1.range.lowerBound })
    }
}

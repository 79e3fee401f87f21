import CloakroomLoop

/// What a row of counters has counted in about the last minute.
///
/// The row itself only ever grows; it is copied every few seconds, and the oldest copy is subtracted.
struct CounterWindow {
    static let length: UInt64 = 60_000_000_000
    static let step: UInt64 = 5_000_000_000

    private struct Sample {
        let instant: UInt64
        let values: [UInt64]
    }

    private var samples: [Sample] = []

    /// - Parameter values: of the row.
    mutating func note(_ values: [UInt64], at instant: UInt64) {
        if let last = samples.last, instant < last.instant + Self.step { return }
        samples.append(Sample(instant: instant, values: values))
        while samples.count > 1, samples[1].instant + Self.length <= instant { samples.removeFirst() }
    }

    /// - Returns: what came since the oldest copy, and how long that is ago in nanoseconds.
    func counted(_ values: [UInt64], at instant: UInt64) -> (values: [UInt64], nanoseconds: UInt64) {
        guard let first = samples.first else { return ([UInt64](repeating: 0, count: values.count), 0) }
        return (zip(values, first.values).map { $0 &- $1 }, instant - first.instant)
    }
}

extension MetricsLayout {
    /// What histograms say together.
    struct Durations: Equatable {
        let count: UInt64
        /// In microseconds, as exact as the buckets are; `nil` when nothing was counted.
        let p50: Int?
        let p99: Int?
    }

    /// - Parameters:
    ///   - bases: where the histograms stand.
    ///   - values: of a row, or what one has counted in a time.
    func durations(at bases: [Int], in values: [UInt64]) -> Durations {
        let buckets = (0...Self.bounds.count).map { bucket in bases.reduce(0) { $0 + values[$1 + bucket] } }
        return Durations(
            count: buckets.reduce(0, +), p50: Self.quantile(0.5, of: buckets), p99: Self.quantile(0.99, of: buckets))
    }

    /// Within a bucket durations count as evenly spread; those beyond the last bound count as that
    /// (Prometheus, `histogram_quantile`).
    private static func quantile(_ share: Double, of buckets: [UInt64]) -> Int? {
        let total = buckets.reduce(0, +)
        guard total > 0 else { return nil }
        let rank = share * Double(total)
        var below = 0.0
        for (bucket, count) in buckets.enumerated() where count > 0 {
            guard bucket < bounds.count else { break }
            if below + Double(count) >= rank {
                let lower = bucket == 0 ? 0 : bounds[bucket - 1]
                return Int((lower + (bounds[bucket] - lower) * (rank - below) / Double(count)) * 1e6)
            }
            below += Double(count)
        }
        return Int(bounds[bounds.count - 1] * 1e6)
    }
}

// Not isolated: a closure of a loop's function that runs for each counter would look for its executor as often.

extension MappedCounters {
    /// Their values now.
    func first(_ count: Int) -> [UInt64] {
        var values: [UInt64] = []
        values.reserveCapacity(count)
        for index in 0..<count { values.append(self[index]) }
        return values
    }
}

extension MetricsLayout {
    /// Whether a histogram counted anything.
    func hasDurations(at base: Int, in values: [UInt64]) -> Bool {
        values[base...base + Self.bounds.count].contains { $0 > 0 }
    }
}

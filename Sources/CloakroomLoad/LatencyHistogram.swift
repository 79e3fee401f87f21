/// How often which length of time occurred, in nanoseconds: 128 buckets for each power of two, so that a percentile is
/// right to 0.4 %.
///
/// A power of two takes memory only once a value of it was recorded, so that one histogram for each second of a long run is
/// a few kilobytes.
package struct LatencyHistogram: Sendable, Equatable {
    package struct Bucket: Sendable, Equatable {
        /// From the first to before the second.
        package let range: Range<UInt64>
        package let count: Int
    }

    private static let bits = 7
    private static let width = 1 << bits

    private var rows: [[UInt32]] = []
    package private(set) var count = 0
    /// The extremes as they were, not those of buckets; 0 where nothing was recorded.
    package private(set) var minimum: UInt64 = 0
    package private(set) var maximum: UInt64 = 0
    private var sum = 0.0

    package init() {}

    package mutating func record(_ value: UInt64) {
        let (row, column) = Self.place(of: value)
        while rows.count <= row { rows.append([]) }
        if rows[row].isEmpty { rows[row] = [UInt32](repeating: 0, count: Self.width) }
        rows[row][column] += 1
        minimum = count == 0 ? value : min(minimum, value)
        maximum = max(maximum, value)
        count += 1
        sum += Double(value)
    }

    package mutating func add(_ other: LatencyHistogram) {
        guard other.count > 0 else { return }
        while rows.count < other.rows.count { rows.append([]) }
        for (row, counts) in other.rows.enumerated() where !counts.isEmpty {
            if rows[row].isEmpty {
                rows[row] = counts
            } else {
                for column in counts.indices { rows[row][column] += counts[column] }
            }
        }
        minimum = count == 0 ? other.minimum : min(minimum, other.minimum)
        maximum = max(maximum, other.maximum)
        count += other.count
        sum += other.sum
    }

    package var mean: UInt64 { count == 0 ? 0 : UInt64(exactly: (sum / Double(count)).rounded()) ?? maximum }

    /// The least value that so many percent do not exceed; 0 where nothing was recorded.
    package func percentile(_ percent: Double) -> UInt64 {
        // What the product has beyond a whole number, as 99.9 % of 1,000 have, is no further rank.
        let rank = max(1, Int((percent / 100 * Double(count) - 1e-6).rounded(.up)))
        guard rank < count else { return maximum }
        var before = 0
        for bucket in buckets {
            before += bucket.count
            guard before < rank else {
                let middle = bucket.range.lowerBound + (bucket.range.upperBound - 1 - bucket.range.lowerBound) / 2
                return min(max(middle, minimum), maximum)
            }
        }
        return maximum
    }

    /// Those that are not empty, in order.
    package var buckets: [Bucket] {
        var buckets: [Bucket] = []
        for (row, counts) in rows.enumerated() {
            for (column, count) in counts.enumerated() where count > 0 {
                buckets.append(Bucket(range: Self.range(row, column), count: Int(count)))
            }
        }
        return buckets
    }

    /// Row 0 has the values below 128 as they are; each further row one power of two.
    private static func place(of value: UInt64) -> (row: Int, column: Int) {
        guard value >= UInt64(width) else { return (0, Int(value)) }
        let exponent = UInt64.bitWidth - 1 - value.leadingZeroBitCount
        return (exponent - bits + 1, Int(value >> UInt64(exponent - bits)) & (width - 1))
    }

    private static func range(_ row: Int, _ column: Int) -> Range<UInt64> {
        guard row > 0 else { return UInt64(column)..<UInt64(column) + 1 }
        let lower = UInt64(width + column) << UInt64(row - 1)
        let (upper, overflows) = lower.addingReportingOverflow(1 << UInt64(row - 1))
        return lower..<(overflows ? .max : upper)
    }
}

/// A value that a run must not pass, as `--fail-if` says it: `p99>50ms`, `errors>0.1%`, `throughput<900`, `renew:p50>80ms`.
package struct LoadBar: Sendable, Equatable {
    package enum Metric: Sendable, Equatable {
        case percentile(Double)
        case mean
        case maximum
        /// Of the requests that were due, from 0 to 1.
        case errorShare
        case errorCount
        /// Good responses per second.
        case throughput
    }

    /// `nil` for all requests.
    package let route: LoadRoute?
    package let metric: Metric
    /// Whether values above the limit break it, or those below.
    package let isUpper: Bool
    /// In nanoseconds, as a share, as a count, or per second.
    package let limit: Double
    /// As it was written.
    package let text: String

    /// - Returns: `nil` for what is no bar.
    package init?(_ text: String) {
        let compact = text.filter { $0 != " " }
        guard let sign = compact.firstIndex(where: { $0 == ">" || $0 == "<" }) else { return nil }
        var name = compact[..<sign]
        let value = compact[compact.index(after: sign)...]
        if let colon = name.firstIndex(of: ":") {
            guard let route = LoadRoute(rawValue: String(name[..<colon])) else { return nil }
            self.route = route
            name = name[name.index(after: colon)...]
        } else {
            route = nil
        }
        guard let (metric, limit) = Self.parsed(name, value), limit.isFinite, limit >= 0 else { return nil }
        self.metric = metric
        self.limit = limit
        isUpper = compact[sign] == ">"
        self.text = compact
    }

    /// Whether it says how many requests may fail.
    var limitsErrors: Bool {
        switch metric {
        case .errorShare, .errorCount: isUpper
        case .percentile, .mean, .maximum, .throughput: false
        }
    }

    /// - Returns: of a group of requests, in the limit's unit; `nil` where none of them was due, or none was sent whose
    ///   latency could be measured.
    package func value(of group: LoadTally.Group, seconds: Double) -> Double? {
        guard group.due > 0 else { return nil }
        let hasLatency = group.latency.count > 0
        return switch metric {
        case .percentile(let percent): hasLatency ? Double(group.latency.percentile(percent)) : nil
        case .mean: hasLatency ? Double(group.latency.mean) : nil
        case .maximum: hasLatency ? Double(group.latency.maximum) : nil
        case .errorShare: Double(group.errors) / Double(group.due)
        case .errorCount: Double(group.errors)
        case .throughput: Double(group.good) / seconds
        }
    }

    /// What was not measured does not keep a bar.
    ///
    /// - Parameter value: ``value(of:seconds:)``.
    package func isBroken(by value: Double?) -> Bool {
        guard let value else { return true }
        return isUpper ? value > limit : value < limit
    }

    /// A value in words.
    ///
    /// - Parameter value: ``value(of:seconds:)``.
    package func words(_ value: Double?) -> String {
        guard let value else { return "not measured" }
        return switch metric {
        case .percentile, .mean, .maximum: UInt64(value).durationText
        case .errorShare: "\((value * 100).fixed(3)) %"
        case .errorCount: value.fixed(0)
        case .throughput: "\(value.fixed(1))/s"
        }
    }

    private static func parsed(_ name: Substring, _ value: Substring) -> (Metric, Double)? {
        switch name {
        case "errors":
            guard value.hasSuffix("%") else { return Double(value).map { (.errorCount, $0) } }
            return Double(value.dropLast()).map { (.errorShare, $0 / 100) }
        case "throughput": return Double(value).map { (.throughput, $0) }
        case "mean": return nanoseconds(value).map { (.mean, $0) }
        case "max": return nanoseconds(value).map { (.maximum, $0) }
        default:
            guard name.hasPrefix("p"), let percent = Double(name.dropFirst()), percent > 0, percent <= 100 else {
                return nil
            }
            return nanoseconds(value).map { (.percentile(percent), $0) }
        }
    }

    private static func nanoseconds(_ text: Substring) -> Double? {
        for (unit, factor) in [("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)] where text.hasSuffix(unit) {
            return Double(text.dropLast(unit.count)).map { $0 * factor }
        }
        return nil
    }
}

/// A bar against what one step of a run measured.
package struct LoadVerdict: Sendable, Equatable {
    package let bar: LoadBar
    /// Of the step, in requests per second.
    package let rate: Double
    /// ``LoadBar/value(of:seconds:)``
    package let value: Double?

    package var isBroken: Bool { bar.isBroken(by: value) }
}

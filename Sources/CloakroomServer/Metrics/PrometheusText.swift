/// The text format of Prometheus, version 0.0.4 (prometheus.io, "Exposition formats").
enum PrometheusText {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// - Parameter values: by the indices of the layout.
    static func encode(_ layout: MetricsLayout, values: [UInt64], gauges: [(name: String, help: String, value: Int)])
        -> [UInt8]
    {
        var text = ""
        for gauge in gauges {
            text += "# HELP \(gauge.name) \(gauge.help)\n# TYPE \(gauge.name) gauge\n\(gauge.name) \(gauge.value)\n"
        }
        for family in layout.families {
            text += "# HELP \(family.name) \(family.help)\n# TYPE \(family.name) \(family.kind)\n"
            if family.kind == "histogram" {
                encodeHistograms(family, values, into: &text)
            } else {
                // A series that never counted says nothing, and there are many.
                for series in family.series where values[series.index] > 0 || series.labels.count < 2 {
                    append(series, String(values[series.index]), to: &text)
                }
            }
        }
        return Array(text.utf8)
    }

    /// Buckets are kept apart and told as sums up to each bound.
    private static func encodeHistograms(_ family: MetricsLayout.Family, _ values: [UInt64], into text: inout String) {
        let width = MetricsLayout.histogramWidth
        for start in stride(from: 0, to: family.series.count, by: width) {
            let histogram = family.series[start..<start + width]
            let buckets = histogram.dropLast()
            let total = buckets.reduce(0) { $0 + values[$1.index] }
            guard total > 0, let sum = histogram.last else { continue }
            var below: UInt64 = 0
            for bucket in buckets {
                below += values[bucket.index]
                append(bucket, String(below), to: &text)
            }
            append(sum, String(Double(values[sum.index]) * sum.scale), to: &text)
            text += "\(family.name)_count\(labels(sum.labels)) \(total)\n"
        }
    }

    private static func append(_ series: MetricsLayout.Series, _ value: String, to text: inout String) {
        text += "\(series.name)\(labels(series.labels)) \(value)\n"
    }

    private static func labels(_ labels: [(name: String, value: String)]) -> String {
        guard !labels.isEmpty else { return "" }
        return "{" + labels.map { "\($0.name)=\"\(escaped($0.value))\"" }.joined(separator: ",") + "}"
    }

    /// Names of issuers hold whatever theirs do.
    private static func escaped(_ value: String) -> String {
        guard value.utf8.contains(where: { $0 == 0x22 || $0 == 0x5C || $0 == 0x0A }) else { return value }
        return value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}

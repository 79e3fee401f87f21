import Foundation
import Testing

/// The text format of Prometheus, read strictly (prometheus.io, "Exposition formats").
struct Metrics {
    struct Sample: Hashable {
        let name: String
        let labels: [String: String]
    }

    private(set) var samples: [Sample: Double] = [:]
    private(set) var types: [String: String] = [:]
    /// Lines that are none of the format's.
    private(set) var strange: [String] = []

    init(_ text: String) {
        for line in text.components(separatedBy: "\n") where !line.isEmpty {
            let words = line.split(separator: " ").map(String.init)
            if line.hasPrefix("# TYPE "), words.count == 4 {
                types[words[2]] = words[3]
            } else if line.hasPrefix("# HELP "), words.count > 3 {
                continue
            } else if let match = line.wholeMatch(of: /([a-z_]+)(?:\{([^}]*)\})? ([0-9.e+-]+)/),
                let value = Double(match.3)
            {
                let sample = Sample(name: String(match.1), labels: Self.labels(match.2 ?? ""))
                if samples.updateValue(value, forKey: sample) != nil { strange.append("twice: \(line)") }
            } else {
                strange.append(line)
            }
        }
        if text.last != "\n" { strange.append("no line feed at the end") }
    }

    private static func labels(_ text: Substring) -> [String: String] {
        let pairs = text.matches(of: /([a-z_]+)="([^"\\]*)"(?:,|$)/).map { (String($0.1), String($0.2)) }
        return Dictionary(pairs) { first, _ in first }
    }

    /// All series of this name that have these labels, added up.
    func sum(_ name: String, _ labels: [String: String] = [:]) -> Double {
        samples.filter { sample, _ in
            sample.name == name && labels.allSatisfy { sample.labels[$0.key] == $0.value }
        }
        .values.reduce(0, +)
    }
}

import Foundation
import Testing

@testable import CloakroomServer

/// `deploy/alerts/worker.yaml`, against what workers count: a rule on a name that nobody writes never fires.
struct WorkerAlertTests {
    private static let rules = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../deploy/alerts/worker.yaml").standardized

    /// Of each name that a rule may use, the labels with their values.
    private static func known() -> [String: [String: Set<String>]] {
        var known: [String: [String: Set<String>]] = ["cloakroom_workers": [:], "cloakroom_start_time_seconds": [:]]
        var names = MetricNames()
        names.issuers = ["https://issuer.example"]
        for series in MetricsLayout(names).families.flatMap(\.series) {
            for label in series.labels { known[series.name, default: [:]][label.name, default: []].insert(label.value) }
            known[series.name, default: [:]].merge([:]) { $1 }
        }
        return known
    }

    @Test func `speak only of metrics, labels and values that workers write`() throws {
        let text = try String(contentsOf: Self.rules, encoding: .utf8)
        let known = Self.known()
        var names: Set<String> = []
        for match in text.matches(of: /(cloakroom_[a-z_]+)(?:\{([^}]*)\})?/) {
            let name = String(match.1)
            names.insert(name)
            let labels = try #require(known[name], "\(name) is written by nobody")
            for condition in (match.2 ?? "").matches(of: /([a-z_]+)(?:=~|!=|=)"([^"]*)"/) {
                let values = try #require(labels[String(condition.1)], "\(name) has no label \(condition.1)")
                for value in condition.2.split(separator: "|") {
                    #expect(values.contains(String(value)), "\(name) has no \(condition.1)=\(value)")
                }
            }
        }
        #expect(names.count > 8)
    }

    @Test func `watch whatever can only be our own fault`() throws {
        let text = try String(contentsOf: Self.rules, encoding: .utf8)
        for name in [
            "cloakroom_audit_failures_total", "cloakroom_redis_failures_total", "misconfigured", "no_credentials",
            "cloakroom_requests_total",
        ] { #expect(text.contains(name)) }
    }
}

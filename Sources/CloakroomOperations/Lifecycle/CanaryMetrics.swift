#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What a run of the canaries tells Prometheus, in its text format, for node_exporter's textfile collector: the run is
/// over when Prometheus scrapes, so no worker could show it.
package enum CanaryMetrics {
    static let names = [
        "cloakroom_canary_last_run_timestamp_seconds", "cloakroom_canary_failures", "cloakroom_canary_objects",
        "cloakroom_canary_last_expiry_timestamp_seconds", "cloakroom_canary_last_survival_timestamp_seconds",
    ]

    package static func text(_ canaries: Canaries, _ findings: [Canaries.FailedCanary], now: Date) -> String {
        var text = ""
        func family(_ name: String, _ help: String, _ series: [(labels: String, value: Int)]) {
            guard !series.isEmpty else { return }
            text += "# HELP \(name) \(help)\n# TYPE \(name) gauge\n"
            for (labels, value) in series { text += "\(name)\(labels) \(value)\n" }
        }
        func seconds(_ date: Date?) -> [(labels: String, value: Int)] {
            date.map { [(labels: "", value: Int($0.timeIntervalSince1970))] } ?? []
        }
        family(names[0], "When the canaries were last looked after.", seconds(now))
        family(
            names[1], "Broken promises that the last run found.",
            Canaries.Failure.allCases.map { failure in
                ("{kind=\"\(failure.rawValue)\"}", findings.count { $0.failure == failure })
            })
        family(
            names[2], "Canaries in the bucket, by where they are in their life.",
            Canaries.Role.allCases.flatMap { role in
                Canaries.State.allCases.map { state in
                    (
                        "{role=\"\(role.rawValue)\",state=\"\(state.rawValue)\"}",
                        canaries.canaries.count { $0.role == role && canaries.state($0, now) == state }
                    )
                }
            })
        family(
            names[3], "When one that nobody renewed was last found gone, in its time.", seconds(canaries.lastExpiry))
        family(
            names[4], "When a renewed one was last found alive beyond its first expiration.",
            seconds(canaries.lastSurvival))
        return text
    }
}

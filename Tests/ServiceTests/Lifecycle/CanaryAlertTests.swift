import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// `deploy/alerts/canary.yaml`, against what the canaries tell: a rule on a name that nobody writes never fires.
struct CanaryAlertTests {
    private static let rules = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../deploy/alerts/canary.yaml").standardized

    @Test func `speak only of metrics and kinds that the canaries write`() throws {
        let text = try String(contentsOf: Self.rules, encoding: .utf8)
        let names = text.matches(of: /cloakroom_canary_[a-z_]+/).map { String($0.output) }
        #expect(Set(names).isSubset(of: CanaryMetrics.names))
        for match in text.matches(of: /kind=~?"([^"]*)"/) {
            for kind in match.output.1.split(separator: "|") {
                #expect(Canaries.Failure(rawValue: String(kind)) != nil, "\(kind)")
            }
        }
    }

    @Test func `watch every way in which a promise is broken, and that somebody looks`() throws {
        let text = try String(contentsOf: Self.rules, encoding: .utf8)
        for failure in Canaries.Failure.allCases { #expect(text.contains(failure.rawValue)) }
        #expect(text.contains("absent(cloakroom_canary_last_run_timestamp_seconds)"))
        #expect(text.contains("cloakroom_canary_last_expiry_timestamp_seconds"))
        #expect(text.contains("cloakroom_canary_last_survival_timestamp_seconds"))
    }
}

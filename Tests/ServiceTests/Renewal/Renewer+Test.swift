import CloakroomAWS
import CloakroomLoop
import Foundation

@testable import CloakroomServer

extension Renewer {
    nonisolated static let testTime = Date(timeIntervalSince1970: 1_800_000_000)

    @LoopActor static func test(
        _ failure: Settings.Renewal.PartialFailure = .retry, prefix: String = "", others: [String] = [],
        inFlight: Int = 8, retention: Duration? = .seconds(86_400), metrics: Metrics? = nil,
        permissions: RenewalPermissions? = nil,
        _ renew: @escaping @Sendable (String) async -> Renewal.Outcome
    ) throws -> Renewer {
        let settings = Settings.Renewal(
            mode: .auto, storageClass: "STANDARD", minimumAge: .zero, keyPrefix: prefix, otherPrefixes: others,
            maximumInFlight: inFlight,
            partialFailure: failure, retention: retention)
        return Renewer(
            settings: settings, requestDeadline: .seconds(15), metrics: try metrics ?? Metrics(),
            permissions: permissions,
            now: { testTime }
        ) { key, _ in Renewal(outcome: await renew(key), counts: AttemptCounts(attempts: 1)) }
    }
}

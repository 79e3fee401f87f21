import CloakroomAWS
import CloakroomLoop
import Foundation

@testable import CloakroomServer

extension S3Client {
    /// Renews batches in the client's bucket.
    ///
    /// - Parameter testsPermissions: whether an object of the worker's own may tell whether a refusal is a key's own, as
    ///   in a worker; otherwise only other keys can.
    @LoopActor func renewer(
        _ failure: Settings.Renewal.PartialFailure, others: [String] = [], inFlight: Int = 32,
        queue: ObjectQueue? = nil, testsPermissions: Bool = false,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws -> Renewer {
        let settings = Settings.Renewal(
            mode: .auto, storageClass: "STANDARD", minimumAge: .seconds(86_400), keyPrefix: "",
            otherPrefixes: others, maximumInFlight: inFlight, partialFailure: failure, retention: .seconds(30 * 86_400))
        let (metrics, requestDeadline) = (try Metrics(), Duration.seconds(15))
        guard testsPermissions else {
            return Renewer(
                settings: settings, requestDeadline: requestDeadline, metrics: metrics, queue: queue,
                now: now, renew: { [self] in await renew(key: $0, deadline: $1) })
        }
        return Renewer(
            settings, s3: self, requestDeadline: requestDeadline, metrics: metrics, queue: queue, now: now)
    }
}

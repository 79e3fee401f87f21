import CloakroomAWS
import CloakroomLoop
import Foundation

@testable import CloakroomServer

extension Vendor {
    /// For a request that has fifteen seconds from now on.
    @LoopActor func credentials(
        for subject: Subject, _ grant: Grant, revokedBefore: Date? = nil,
        permit: @escaping @LoopActor @Sendable () async -> Bool = { true },
        settle: @escaping @LoopActor @Sendable (Bool) -> Void = { _ in }
    ) async -> Result<VendedSession, STSError> {
        await credentials(
            Vend(
                for: subject, grant, revokedBefore: revokedBefore, deadline: .now + .seconds(15), permit: permit,
                settle: settle))
    }
}

import CloakroomLoop

@testable import CloakroomServer

extension AuditLog {
    /// - Returns: whether the line has been written.
    func record(_ issue: Issuance) async -> Bool {
        await withCheckedContinuation { waiter in record(issue) { waiter.resume(returning: $0) } }
    }
}

import CloakroomAWS
import Foundation

/// Consecutive refusals: new credentials after each would overload the vendor when S3 accepts none of them.
struct RefusalCount: Sendable {
    /// Credentials that were in use for so long were valid once: earlier refusals are forgotten.
    static let probation: TimeInterval = 60

    private var count = 0

    /// - Parameter age: for how long the refused ones have been held.
    /// - Returns: whether it is worth getting others. The first time it is; after that only once these were held for
    ///   1, 2, 4 … seconds.
    mutating func shouldReplace(age: TimeInterval) -> Bool {
        if age >= Self.probation { count = 0 }
        let minimumAge = count == 0 ? 0 : min(Self.probation, Double(1 << min(count - 1, 10)))
        guard age >= minimumAge else { return false }
        count += 1
        return true
    }
}

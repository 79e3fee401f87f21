import CloakroomLoop

/// Of a request that is traced: which spans it has, and what it has waited for.
@LoopActor
final class RequestTrace {
    /// What a request waits for, by the name of the span.
    enum Wait: String {
        case redis = "Redis"
        case sts = "STS"
        case s3 = "S3"
        /// Of an issuer.
        case keys = "keys"
        case audit = "audit"
    }

    /// No request waits so often.
    private static let maximumWaits = 16

    let high: UInt64
    let low: UInt64
    /// Of the request itself.
    let span: UInt64
    /// The caller's; 0 when it named none.
    let parent: UInt64
    /// In ``Monotonic`` nanoseconds.
    private(set) var waits: [(wait: Wait, start: UInt64, end: UInt64)] = []

    init(high: UInt64, low: UInt64, span: UInt64, parent: UInt64) {
        (self.high, self.low, self.span, self.parent) = (high, low, span, parent)
    }

    func add(_ wait: Wait, from start: UInt64, to end: UInt64) {
        guard waits.count < Self.maximumWaits else { return }
        waits.append((wait, start, end))
    }
}

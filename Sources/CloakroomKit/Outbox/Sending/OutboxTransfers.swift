/// The transfers of an outbox that its carrier has.
struct OutboxTransfers {
    /// Reads what the carrier says.
    var listener: Task<Void, Never>?
    /// Those that this process has begun, or found under way, and that have not ended.
    var underWay: Set<String> = []
    /// Ends that nothing has waited for yet.
    var ends: [String: Result<HTTPResponse, HTTPTransportError>] = [:]
    var waiting: [String: CheckedContinuation<Result<HTTPResponse, HTTPTransportError>, Never>] = [:]
    /// Of each item under way, how many bytes were sent.
    var sent: [String: Int64] = [:]
}

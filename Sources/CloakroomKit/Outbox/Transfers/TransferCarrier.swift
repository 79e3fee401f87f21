/// Carries uploads: over an ``HTTPTransport`` while the app runs, or by the system while it does not.
///
/// A transfer has one attempt and ends with one ``TransferEvent/ended(id:_:)``. An event may be lost with the process; an
/// outbox finds out what became of its transfer then.
///
/// A carrier belongs to one outbox at a time: after a sign-out the next user's has the same one.
public protocol TransferCarrier: Sendable {
    /// Begins to send a request whose body is a file; the file stays as it is until the transfer has ended.
    ///
    /// - Parameter id: of no transfer under way.
    /// - Throws: ``CloakroomError`` when it cannot begin; then there is no event.
    func start(_ request: HTTPRequest, id: String) async throws

    /// The identifiers of all that is under way, also what an earlier process began.
    func transfersUnderWay() async -> Set<String>

    /// Ends a transfer; none of its bytes are sent once this has returned. For one that has ended nothing happens.
    func cancel(id: String) async

    /// Whether transfers go on without the process: then the end of a run leaves them alone.
    func outlivesProcess() async -> Bool

    /// What happens from now on, and which transfers have ended since an earlier stream ended or its reader was cancelled, also
    /// in an earlier process. Each outbox calls this once, before all else; a new stream ends the one before.
    func events() async -> AsyncStream<TransferEvent>
}

extension TransferCarrier {
    /// The end of the process ends its transfers.
    public func outlivesProcess() async -> Bool { false }
}

/// What happens to a transfer.
public enum TransferEvent: Sendable {
    /// Of the body's bytes, so many were sent.
    case progress(id: String, bytesSent: Int64)
    case ended(id: String, Result<HTTPResponse, HTTPTransportError>)
}

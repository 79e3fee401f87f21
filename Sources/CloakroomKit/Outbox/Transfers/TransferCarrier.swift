/// Carries uploads: over an ``HTTPTransport`` while the app runs, or by the system while it does not.
///
/// A transfer has one attempt and ends with one ``TransferEvent/ended(id:_:)``. An event may be lost with the process; an
/// outbox finds out what became of its transfer then.
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

    /// What happens from now on, and what an earlier process did not hear of; called once, before all else.
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

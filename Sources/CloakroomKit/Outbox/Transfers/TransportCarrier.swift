package import CloakroomAWS

/// Carries uploads over an ``HTTPTransport``, for as long as the process runs.
public actor TransportCarrier: TransferCarrier {
    private let transport: any HTTPTransport
    private let runtime: RuntimeDependencies
    private let transferEvents = TransferEvents()
    private var tasks: [String: Task<Void, Never>] = [:]

    public init(transport: any HTTPTransport = URLSessionTransport()) {
        self.init(transport: transport, runtime: RuntimeDependencies())
    }

    package init(transport: any HTTPTransport, runtime: RuntimeDependencies) {
        self.transport = transport
        self.runtime = runtime
    }

    public func start(_ request: HTTPRequest, id: String) throws {
        guard tasks[id] == nil else { throw CloakroomError(.invalidRequest, "transfer \(id) is under way") }
        tasks[id] = runtime.spawn { [transport, transferEvents] in
            let result: Result<HTTPResponse, HTTPTransportError>
            do throws(HTTPTransportError) {
                let progress = { @Sendable (sent: HTTPProgress) -> Void in
                    transferEvents.send(.progress(id: id, bytesSent: sent.bytesSent))
                }
                result = .success(try await transport.send(request, progress: progress))
            } catch {
                result = .failure(error)
            }
            await self.end(id)
            transferEvents.send(.ended(id: id, result))
        }
    }

    public func transfersUnderWay() -> Set<String> { Set(tasks.keys) }

    public func cancel(id: String) async {
        guard let task = tasks[id] else { return }
        task.cancel()
        await task.value
    }

    public func events() -> AsyncStream<TransferEvent> { transferEvents.stream() }

    private func end(_ id: String) { tasks[id] = nil }
}

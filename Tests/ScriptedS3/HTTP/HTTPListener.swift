import CloakroomCLinux
import CloakroomLoop

/// Listens on the loop and hands every request to a handler, later by the latency.
@LoopActor
final class HTTPListener {
    typealias Handler = @LoopActor (S3Request) -> S3Reply

    var latency: Duration
    private nonisolated let listening: Descriptor
    private var watch: EventPoller.Watch?
    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    private var handler: Handler = { _ in S3Reply(503) }

    nonisolated init(_ listening: consuming Descriptor, latency: Duration) {
        self.listening = listening
        self.latency = latency
    }

    func start(_ handler: @escaping Handler) {
        self.handler = handler
        watch = EventPoller.shared.watch(listening.raw, for: .readable) { [weak self] _ in self?.accept() }
    }

    func stop() {
        if let watch { EventPoller.shared.unwatch(watch) }
        watch = nil
        shutdown(listening.raw, Int32(SHUT_RDWR))
        for connection in connections.values { connection.close() }
    }

    func forget(_ connection: HTTPConnection) { connections[ObjectIdentifier(connection)] = nil }

    /// The answer, when its time has come.
    func answer(_ request: S3Request, _ body: @escaping @LoopActor (S3Reply) -> Void) {
        guard latency > .zero else { return body(handler(request)) }
        EventPoller.shared.schedule(after: latency) { [weak self] in
            guard let self else { return }
            body(handler(request))
        }
    }

    private func accept() {
        while true {
            let socket = cloakroom_accept(listening.raw)
            guard socket >= 0 else { return }
            var on: Int32 = 1
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            let connection = HTTPConnection(socket, listener: self)
            connections[ObjectIdentifier(connection)] = connection
            connection.start()
        }
    }
}

import CloakroomTestSupport
import Synchronization

/// An S3 that knows no key and holds every response back until it is let go, for ten seconds at most.
final class SlowUpstream: Sendable {
    private let server: HTTPServer
    private let latch: Latch
    private let released = Atomic(false)

    init() throws {
        let latch = Latch()
        self.latch = latch
        server = try HTTPServer { _ in
            [.wait(latch), .answer(404, "<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>")]
        }
    }

    var url: String { server.url }

    /// Requests that have arrived.
    var arrived: Int { server.requests.count }

    /// Lets every response go, now and from now on.
    func release() {
        if !released.exchange(true, ordering: .relaxed) { latch.open() }
    }

    func stop() {
        release()
        server.stop()
    }
}

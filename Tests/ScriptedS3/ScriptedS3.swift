import CloakroomCLinux
import CloakroomLoop
import Synchronization

/// An S3 in memory that answers as AWS does, and badly where a test wants it to.
///
/// It verifies signatures with code of its own, keeps to AWS's rules for copies of an object onto itself, removes what
/// lifecycle rules end (after days as short as a test likes), and keeps the truth: what really happened to each key.
/// The rules stand where they are applied, each with its evidence; the sources are recordings of AWS by LocalStack's
/// tests marked `aws.validated` (last run 2026-02), the API Reference, botocore's model and its handling of answers.
/// Two spellings of one text (composed or not) are one key here, as to Swift; to S3 they are two.
/// Not known, and so not asserted by any test: whether AWS looks at preconditions before or after "to itself".
///
/// It runs on the process's loop (see ``LoopActor``), which must be running; every function here may be called from any
/// thread.
package final class ScriptedS3: Sendable {
    package struct Options: Sendable {
        package var bucket = "photos"
        package var region = "eu-west-1"
        package var account = "000000000000"
        package var identity = ScriptedIdentity()
        /// Before each answer.
        package var latency: Duration = .zero
        /// How long a day of a lifecycle rule is, in seconds.
        package var dayLength: Double = 86_400
        /// Seconds since 1970.
        package var clock: @Sendable () -> Double = ScriptedS3.wallClock
        /// Whether ``ScriptedS3/requests`` grows.
        package var keepsRequests = true

        package init() {}
    }

    let state: Mutex<S3State>
    let clock: @Sendable () -> Double
    private let listener: HTTPListener
    package let port: UInt16

    /// - Parameter port: 0 for a free one.
    /// - Throws: ``SystemError`` when the port is taken.
    package init(_ options: Options = Options(), host: String = "127.0.0.1", port: UInt16 = 0) throws {
        let listening = try Descriptor(checking: cloakroom_listen_internet(host, port, 1024))
        self.port = Self.port(of: listening.raw)
        state = Mutex(S3State(options))
        clock = options.clock
        listener = HTTPListener(listening, latency: options.latency)
        LoopActor.spawn { [self] in
            listener.start { [weak self] request in self?.answer(request) ?? S3Reply(503) }
        }
    }

    package var url: String { "http://127.0.0.1:\(port)" }

    /// Ends every connection and listens no more.
    package func stop() { LoopActor.spawn { [listener] in listener.stop() } }

    /// Before each answer from now on.
    package func delay(_ latency: Duration) { LoopActor.spawn { [listener] in listener.latency = latency } }

    package static let wallClock: @Sendable () -> Double = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    func answer(_ request: S3Request) -> S3Reply {
        let now = clock()
        if let control = ControlRequest(request) { return control.answer(for: self) }
        return state.withLock { $0.answer(request, now: now) }
    }

    private static func port(of socket: Int32) -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }
}

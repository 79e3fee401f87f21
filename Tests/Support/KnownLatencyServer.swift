import Glibc

/// An HTTP/1.1 server whose latencies are known: each depends on when its request came.
///
/// Each connection has a thread of its own, so that none waits for another.
package final class KnownLatencyServer: Sendable {
    private let server: SocketServer

    /// - Parameter latency: in nanoseconds, of a request that came so many nanoseconds after the server began.
    package init(latency: @escaping @Sendable (_ now: UInt64) -> UInt64) throws {
        let start = Self.now
        server = try SocketServer { peer, _ in
            let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)
            while let bytes = try? peer.read(), !bytes.isEmpty {
                let came = Self.now
                Self.sleep(until: came + latency(came - start))
                guard (try? peer.write(answer)) != nil else { return }
            }
        }
    }

    deinit { server.stop() }

    package var url: String { "http://127.0.0.1:\(server.port)" }
    package var connections: Int { server.accepted }

    private static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    private static func sleep(until instant: UInt64) {
        var time = timespec(tv_sec: Int(instant / 1_000_000_000), tv_nsec: Int(instant % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, Int32(TIMER_ABSTIME), &time, nil) == EINTR {}
    }
}

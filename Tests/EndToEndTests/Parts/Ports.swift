import Foundation

/// Free ports on 127.0.0.1, below 32768, where the kernel begins to hand out numbers for outgoing connections.
enum Ports {
    /// - Parameter offset: this much higher must be free as well.
    static func free(offset: Int = 0) throws -> Int {
        // Spread over runs that go on side by side.
        let start = 11_000 + Int(getpid()) * 37 % 9000
        for _ in 0..<2000 {
            let port = 11_000 + (start + counter.next() * 7) % 10_000
            if isFree(port), offset == 0 || isFree(port + offset) { return port }
        }
        throw MissingProgramError(description: "no free port on 127.0.0.1")
    }

    private static let counter = Counter()

    private static func isFree(_ port: Int) -> Bool {
        let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Socket.closeOnExec, 0)
        defer { close(probe) }
        // As servers do it: connections that are fading away do not count.
        var on: Int32 = 1
        setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        return Socket.withAddress(port: port) { bind(probe, $0, $1) } == 0
    }
}

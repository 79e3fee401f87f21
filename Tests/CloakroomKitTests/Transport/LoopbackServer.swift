import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A server on 127.0.0.1 that does on every connection what a test tells it, byte for byte, and writes down what came.
final class LoopbackServer: @unchecked Sendable {
    // Every connection has a thread, for its calls wait; what they share is under `condition`.
    private let condition = NSCondition()
    private var received: [RawRequest] = []
    private var connections = 0
    private var open: [ObjectIdentifier: LoopbackConnection] = [:]
    private let listener: Int32
    let port: Int

    /// - Parameter script: runs on a thread of its own for every connection, which closes when it returns; is told its number,
    ///   from 0.
    init(_ script: @escaping @Sendable (LoopbackConnection, _ number: Int) -> Void) throws {
        let (listener, port) = try Self.listen()
        self.listener = listener
        self.port = port
        Thread.detachNewThread { [self] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return closeOnLinux() }
                let connection = LoopbackConnection(descriptor) { self.note($0) }
                let number = condition.withLock {
                    open[ObjectIdentifier(connection)] = connection
                    connections += 1
                    condition.broadcast()
                    return connections - 1
                }
                Thread.detachNewThread { [self] in
                    script(connection, number)
                    connection.close()
                    condition.withLock {
                        open[ObjectIdentifier(connection)] = nil
                        condition.broadcast()
                    }
                }
            }
        }
    }

    /// Answers every request of every connection with these bytes.
    convenience init(answering bytes: String) throws {
        try self.init { connection, _ in
            while connection.readRequest() != nil { connection.write(bytes) }
        }
    }

    var url: String { "http://127.0.0.1:\(port)" }
    var requests: [RawRequest] { condition.withLock { received } }
    var connectionCount: Int { condition.withLock { connections } }

    /// Waits, on a thread that may, until so many connections have ended; for at most ten seconds.
    func connectionsEnded(_ count: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                let limit = Date(timeIntervalSinceNow: 10)
                let hasEnded = condition.withLock {
                    while connections - open.count < count { guard condition.wait(until: limit) else { break } }
                    return connections - open.count >= count
                }
                continuation.resume(returning: hasEnded)
            }
        }
    }

    /// Ends all connections and takes no more.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        #if canImport(Darwin)
            close(listener)
        #endif
        for connection in condition.withLock({ Array(open.values) }) { connection.end() }
    }

    /// By the thread that accepts, which `shutdown` has told: closed under its hands, the descriptor could be another server's
    /// by its next `accept`, whose connections it would take. Darwin tells only by closing.
    private func closeOnLinux() {
        #if !canImport(Darwin)
            close(listener)
        #endif
    }

    private func note(_ request: RawRequest) { condition.withLock { received.append(request) } }

    private static func listen() throws -> (descriptor: Int32, port: Int) {
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && startListening(descriptor, 512) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard descriptor >= 0, isListening else { throw POSIXError(.EADDRNOTAVAIL) }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }
}

/// `listen` of the C library, whose name the method above hides.
private func startListening(_ descriptor: Int32, _ backlog: Int32) -> Int32 { listen(descriptor, backlog) }

/// A request as it came in.
struct RawRequest: Sendable, Equatable {
    /// The first line.
    var line: String
    /// The lines after it, as they came.
    var fields: [String]
    var body: Data

    /// The values of a name, whatever its case.
    subscript(name: String) -> [String] {
        fields.filter { $0.lowercased().hasPrefix(name.lowercased() + ":") }
            .map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
    }
}

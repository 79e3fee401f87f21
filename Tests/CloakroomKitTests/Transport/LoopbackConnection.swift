import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// One connection of a ``LoopbackServer``; its calls wait.
final class LoopbackConnection: @unchecked Sendable {
    // Only its own thread reads; the descriptor is under `lock`, for another one may end it.
    private let lock = NSLock()
    private var descriptor: Int32
    private var buffer = Data()
    private let note: (RawRequest) -> Void

    init(_ descriptor: Int32, note: @escaping (RawRequest) -> Void) {
        self.descriptor = descriptor
        self.note = note
    }

    /// - Returns: The next whole request, or `nil` when the client has gone.
    func readRequest() -> RawRequest? {
        guard var request = readHead() else { return nil }
        let length = request["Content-Length"].first.flatMap { Int($0) } ?? 0
        guard let body = read(length) else { return nil }
        request.body = body
        note(request)
        return request
    }

    /// The next request without its body.
    func readHead() -> RawRequest? {
        let end = Data("\r\n\r\n".utf8)
        while true {
            if let range = buffer.range(of: end) {
                let lines = String(decoding: buffer[..<range.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
                buffer = Data(buffer[range.upperBound...])
                return RawRequest(line: lines[0], fields: Array(lines.dropFirst()), body: Data())
            }
            guard receive() else { return nil }
        }
    }

    func read(_ count: Int) -> Data? {
        while buffer.count < count { guard receive() else { return nil } }
        defer { buffer = Data(buffer.dropFirst(count)) }
        return Data(buffer.prefix(count))
    }

    /// Reads and forgets whatever comes until the client has gone.
    func waitForEnd() {
        while receive() { buffer = Data() }
    }

    func write(_ text: String) { _ = write(Data(text.utf8)) }

    /// - Returns: whether all of it could be sent.
    func write(_ data: Data) -> Bool {
        data.withUnsafeBytes { bytes in
            var done = 0
            while done < bytes.count {
                let count = send(descriptor, bytes.baseAddress! + done, bytes.count - done, noSignal)
                guard count > 0 else { return false }
                done += count
            }
            return true
        }
    }

    /// Ends it with a reset instead of a goodbye.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        close()
    }

    func close() {
        lock.withLock {
            guard descriptor >= 0 else { return }
            closeDescriptor(descriptor)
            descriptor = -1
        }
    }

    /// Ends it from another thread: its own one reads the end.
    func end() {
        lock.withLock {
            if descriptor >= 0 { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private func receive() -> Bool {
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor, &piece, piece.count, 0)
        guard count > 0 else { return false }
        buffer.append(contentsOf: piece[..<count])
        return true
    }
}

private func closeDescriptor(_ descriptor: Int32) { close(descriptor) }

#if canImport(Darwin)
    private let noSignal: Int32 = 0
#else
    private let noSignal = Int32(MSG_NOSIGNAL)
#endif

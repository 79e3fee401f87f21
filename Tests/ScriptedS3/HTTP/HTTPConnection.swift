import CloakroomCLinux
import CloakroomLoop

/// One kept connection: one request at a time, answered as well as its reply's delivery says.
@LoopActor
final class HTTPConnection {
    private static let spaces = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 16)
    private static var scratch = [UInt8](repeating: 0, count: 1 << 16)

    private let socket: Int32
    private unowned let listener: HTTPListener
    private var watch: EventPoller.Watch?
    private var reader = RequestReader()
    private var output: [UInt8] = []
    private var written = 0
    private var padding = 0
    private var isAnswering = false
    private var endsAfterOutput = false
    private var isClosed = false

    init(_ socket: Int32, listener: HTTPListener) {
        self.socket = socket
        self.listener = listener
    }

    func start() {
        watch = EventPoller.shared.watch(socket, for: [.readable, .hangup]) { [weak self] in self?.isReady($0) }
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        if let watch { EventPoller.shared.unwatch(watch) }
        CloakroomCLinux.close(socket)
        listener.forget(self)
    }

    private func isReady(_ readiness: EventPoller.Readiness) {
        if readiness.contains(.writable) { write() }
        if !isClosed, !readiness.isDisjoint(with: [.readable, .hangup, .error]) { read() }
    }

    private func read() {
        while !isClosed {
            let count = Self.scratch.withUnsafeMutableBytes { cloakroom_receive(socket, $0.baseAddress, $0.count) }
            guard count > 0 else {
                if count == 0 || (cloakroom_errno() != EAGAIN && cloakroom_errno() != EINTR) { close() }
                break
            }
            reader.append(Self.scratch[..<count])
            if count < Self.scratch.count { break }
        }
        takeNext()
    }

    private func takeNext() {
        guard !isAnswering, !isClosed else { return }
        switch reader.next() {
        case .request(let request):
            isAnswering = true
            listener.answer(request) { [weak self] in self?.send($0) }
        case .expectsContinue:
            output += Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
            write()
        case .incomplete: break
        case .malformed:
            output += Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
            endsAfterOutput = true
            write()
        }
    }

    private func send(_ reply: S3Reply) {
        guard !isClosed else { return }
        let bytes = reply.bytes
        switch reply.delivery {
        case .whole:
            output += bytes
            padding = reply.padding
        case .half:
            output += bytes[..<(bytes.count * 3 / 4)]
            endsAfterOutput = true
        case .reset:
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<CloakroomCLinux.linger>.size))
            return close()
        case .silence:
            return
        }
        isAnswering = false
        write()
    }

    private func write() {
        while written < output.count || padding > 0 {
            let count =
                written < output.count
                ? output.withUnsafeBytes { cloakroom_send(socket, $0.baseAddress! + written, $0.count - written) }
                : Self.spaces.withUnsafeBytes { cloakroom_send(socket, $0.baseAddress, min($0.count, padding)) }
            guard count > 0 else {
                guard cloakroom_errno() == EAGAIN else { return close() }
                if let watch { EventPoller.shared.rewatch(watch, for: [.readable, .hangup, .writable]) }
                return
            }
            if written < output.count { written += count } else { padding -= count }
        }
        output.removeAll(keepingCapacity: true)
        written = 0
        if endsAfterOutput { return close() }
        if let watch { EventPoller.shared.rewatch(watch, for: [.readable, .hangup]) }
        takeNext()
    }
}

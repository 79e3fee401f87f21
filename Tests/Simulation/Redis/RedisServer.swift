import CloakroomCLinux
import CloakroomLoop
import Glibc

/// A Redis on unix sockets, one for each of its clients, so that the network knows who is who.
///
/// Clients speak to it by their production code: hiredis' parser, the links, their timeouts and attempts to connect again.
@LoopActor
final class RedisServer {
    let data = RedisData()
    private let network: Network
    private let folder: String
    private var connections: [ObjectIdentifier: RedisServerConnection] = [:]
    private var listening: [(client: String, socket: Int32, watch: EventPoller.Watch)] = []
    private(set) var isUp = true

    init(in folder: String, _ network: Network) {
        self.folder = folder
        self.network = network
    }

    /// - Returns: the path of a socket for this client alone.
    func listen(for client: String) -> String {
        let path = "\(folder)/redis-\(client).sock"
        unlink(path)
        let socket = cloakroom_listen_unix(path, 16)
        precondition(socket >= 0, "\(path): \(SystemError())")
        let watch = EventPoller.shared.watch(socket, for: .readable) { [unowned self] _ in accept(socket, client) }
        listening.append((client, socket, watch))
        return path
    }

    /// The process ends, and with it all that was not written to a disk.
    func crash(losingData: Bool) {
        isUp = false
        if losingData { data.flush() }
        dropAll { _ in true }
        Trace.note("redis", losingData ? "crashes and loses its data" : "crashes")
        Trace.reached(losingData ? "Redis lost its data" : "Redis was down")
    }

    func start() {
        isUp = true
        Trace.note("redis", "is back")
    }

    /// A client's process has ended.
    func forget(_ client: String) {
        dropAll { $0.client == client }
        for each in listening where each.client == client {
            EventPoller.shared.unwatch(each.watch)
            close(each.socket)
        }
        listening.removeAll { $0.client == client }
    }

    private func dropAll(_ isSuch: (RedisServerConnection) -> Bool) {
        for connection in connections.values.filter(isSuch).sorted(by: { $0.socket < $1.socket }) { connection.end() }
    }

    private func accept(_ socket: Int32, _ client: String) {
        while case let accepted = cloakroom_accept(socket), accepted >= 0 {
            guard isUp, network.fate(client, "redis") != .refused else {
                close(accepted)
                continue
            }
            let connection = RedisServerConnection(accepted, client, network, data) { [unowned self] ended in
                connections[ObjectIdentifier(ended)] = nil
            }
            connections[ObjectIdentifier(connection)] = connection
        }
    }
}

@LoopActor
final class RedisServerConnection {
    let socket: Int32
    let client: String
    private let network: Network
    private let data: RedisData
    private let ended: (RedisServerConnection) -> Void
    private var watch: EventPoller.Watch?
    private var input: [UInt8] = []
    /// When the last reply goes out: none overtakes another.
    private var lastReply: UInt64 = 0
    private var isOver = false

    init(
        _ socket: Int32, _ client: String, _ network: Network, _ data: RedisData,
        ended: @escaping (RedisServerConnection) -> Void
    ) {
        self.socket = socket
        self.client = client
        self.network = network
        self.data = data
        self.ended = ended
        watch = EventPoller.shared.watch(socket, for: .readable) { [unowned self] _ in read() }
    }

    func end() {
        guard !isOver else { return }
        isOver = true
        if let watch { EventPoller.shared.unwatch(watch) }
        close(socket)
        ended(self)
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while !isOver {
            let count = buffer.withUnsafeMutableBytes { cloakroom_receive(socket, $0.baseAddress, $0.count) }
            if count == 0 { return end() }
            guard count > 0 else { break }
            input += buffer[..<count]
        }
        while !isOver, let words = nextCommand() { take(words) }
    }

    private func take(_ words: [[UInt8]]) {
        // In one data centre: where every tenth command is lost, a worker does nothing but connect.
        switch network.fate(client, "redis", share: 0.02) {
        case .refused, .lostBefore:
            Trace.reached("Redis request lost")
            return end()
        case .lostAfter:
            _ = data.run(words)
            Trace.reached("Redis reply lost")
            return end()
        case .delivered: break
        }
        let reply = Self.bytes(data.run(words))
        lastReply = max(lastReply, VirtualTime.now + network.delay(0.2).nanoseconds)
        EventPoller.shared.schedule(after: .nanoseconds(Int64(lastReply - VirtualTime.now))) { [weak self] in
            guard let self, !isOver else { return }
            _ = reply.withUnsafeBytes { cloakroom_send(self.socket, $0.baseAddress, $0.count) }
        }
    }

    /// RESP: `*N`, then N times `$LENGTH` and so many bytes, by lines.
    private func nextCommand() -> [[UInt8]]? {
        var rest = input[...]
        guard let count = Self.line(&rest, "*") else { return nil }
        var words: [[UInt8]] = []
        for _ in 0..<count {
            guard let length = Self.line(&rest, "$"), rest.count >= length + 2 else { return nil }
            words.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length + 2)
        }
        input = Array(rest)
        return words
    }

    private static func line(_ rest: inout ArraySlice<UInt8>, _ mark: Unicode.Scalar) -> Int? {
        guard rest.first == UInt8(ascii: mark), let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        defer { rest = rest[(end + 1)...] }
        return Int(String(decoding: rest[(rest.startIndex + 1)..<(end - 1)], as: UTF8.self))
    }

    private static func bytes(_ value: Lua.Value) -> [UInt8] {
        switch value {
        case .null: Array("$-1\r\n".utf8)
        case .integer(let number): Array(":\(number)\r\n".utf8)
        case .status(let text): Array("+\(text)\r\n".utf8)
        case .text(let text): Array("$\(text.count)\r\n".utf8) + text + Array("\r\n".utf8)
        case .array(let elements): Array("*\(elements.count)\r\n".utf8) + elements.flatMap { bytes($0) }
        case .error(let message): Array("-\(message)\r\n".utf8)
        }
    }
}

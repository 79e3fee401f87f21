import CloakroomCLinux
import CloakroomLoop
import Glibc

/// One of Redis' servers or sentinels, as a client meets it.
@LoopActor
protocol RedisEndpoint: AnyObject {
    /// As the network knows it.
    var name: String { get }
    var isUp: Bool { get }

    /// - Returns: the reply; `nil` when it comes later, through the connection.
    func reply(to words: [[UInt8]], on connection: RedisServerConnection) -> Lua.Value?
}

/// Where clients reach Redis: each of them has an address of its own for each server, so that the network knows who is who.
///
/// Clients speak to it by their production code: hiredis' parser, the links, their timeouts and attempts to connect again.
@LoopActor
final class RedisPorts {
    private struct Port {
        let client: String
        let server: String
        let socket: Int32
        let watch: EventPoller.Watch
    }

    let network: Network
    private let folder: String
    private var connections: [ObjectIdentifier: RedisServerConnection] = [:]
    private var ports: [Port] = []
    private var clients: [String] = []

    init(in folder: String, _ network: Network) {
        self.folder = folder
        self.network = network
    }

    /// - Returns: the path of a socket for this client alone.
    func listen(for client: String, _ endpoint: any RedisEndpoint) -> String {
        let path = "\(folder)/\(endpoint.name)-\(client).sock"
        listen(at: path, client, endpoint)
        return path
    }

    /// At a host and port of this client's alone.
    func listen(for client: String, _ endpoint: any RedisEndpoint, number: Int, port: Int) {
        listen(at: "\(folder)/\(host(number, for: client)):\(port)", client, endpoint)
    }

    /// The address by which a client knows a server: its topology has that, too.
    func host(_ number: Int, for client: String) -> String {
        if !clients.contains(client) { clients.append(client) }
        let place = clients.firstIndex(of: client) ?? 0
        return "10.\(place / 250).\(place % 250 + 1).\(number)"
    }

    private func listen(at path: String, _ client: String, _ endpoint: any RedisEndpoint) {
        unlink(path)
        let socket = cloakroom_listen_unix(path, 64)
        precondition(socket >= 0, "\(path): \(SystemError())")
        let watch = EventPoller.shared.watch(socket, for: .readable) { [unowned self] _ in
            accept(socket, client, endpoint)
        }
        ports.append(Port(client: client, server: endpoint.name, socket: socket, watch: watch))
    }

    /// A client's process has ended.
    func forget(_ client: String) {
        dropAll { $0.client == client }
        for port in ports where port.client == client {
            EventPoller.shared.unwatch(port.watch)
            close(port.socket)
        }
        ports.removeAll { $0.client == client }
    }

    /// All connections to a server, as when its process ends.
    func drop(_ endpoint: any RedisEndpoint) {
        noteLoss(of: endpoint)
        dropAll { $0.endpoint === endpoint }
    }

    /// No client may rely on it now.
    func noteLoss(of endpoint: any RedisEndpoint) {
        for port in ports where port.server == endpoint.name { network.noteLoss(port.client, port.server) }
    }

    private func dropAll(_ isSuch: (RedisServerConnection) -> Bool) {
        for connection in connections.values.filter(isSuch).sorted(by: { $0.socket < $1.socket }) { connection.end() }
    }

    private func accept(_ socket: Int32, _ client: String, _ endpoint: any RedisEndpoint) {
        while case let accepted = cloakroom_accept(socket), accepted >= 0 {
            guard endpoint.isUp else {
                close(accepted)
                continue
            }
            let connection = RedisServerConnection(accepted, client, endpoint, network) { [unowned self] ended in
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
    let endpoint: any RedisEndpoint
    /// Called when it has ended.
    var onEnd: (@LoopActor () -> Void)?
    /// Whether its requests' keys may be ones that are still on their way here.
    var isAsking = false
    private let network: Network
    private let ended: (RedisServerConnection) -> Void
    private var watch: EventPoller.Watch?
    private var input: [UInt8] = []
    /// When the last reply goes out: none overtakes another.
    private var lastReply: UInt64 = 0
    private var isOver = false
    /// Whether a request has no reply yet, before which no other is looked at.
    private var isBlocked = false
    /// Nothing goes either way any more, and neither side is told.
    private var isSilent = false

    init(
        _ socket: Int32, _ client: String, _ endpoint: any RedisEndpoint, _ network: Network,
        ended: @escaping (RedisServerConnection) -> Void
    ) {
        self.socket = socket
        self.client = client
        self.endpoint = endpoint
        self.network = network
        self.ended = ended
        watch = EventPoller.shared.watch(socket, for: .readable) { [unowned self] _ in read() }
    }

    func end() {
        guard !isOver else { return }
        isOver = true
        if let watch { EventPoller.shared.unwatch(watch) }
        close(socket)
        ended(self)
        onEnd?()
    }

    private static var buffer = [UInt8](repeating: 0, count: 1 << 16)

    private func read() {
        while !isOver {
            let count = Self.buffer.withUnsafeMutableBytes { cloakroom_receive(socket, $0.baseAddress, $0.count) }
            if count == 0 { return end() }
            guard count > 0 else { break }
            input += Self.buffer[..<count]
        }
        takeCommands()
    }

    private func takeCommands() { while !isOver, !isBlocked, let words = nextCommand() { take(words) } }

    private func take(_ words: [[UInt8]]) {
        guard !isSilent else { return }
        // In one data centre: where every tenth command is lost, a worker does nothing but connect.
        switch network.fate(client, endpoint.name, share: 0.02) {
        case .refused:
            Trace.reached(.redisRequestLost)
            // Of a partition a client may hear nothing at all.
            if network.chance(0.5) { isSilent = true } else { end() }
        case .lostBefore:
            Trace.reached(.redisRequestLost)
            end()
        case .lostAfter:
            _ = endpoint.reply(to: words, on: self)
            Trace.reached(.redisReplyLost)
            end()
        case .delivered:
            if let reply = endpoint.reply(to: words, on: self) { send(reply) } else { isBlocked = true }
        }
    }

    /// The reply to a request that had none at once.
    func sendLate(_ value: Lua.Value) {
        isBlocked = false
        send(value)
        takeCommands()
    }

    /// What a subscriber gets.
    func publish(_ channel: String, _ text: String) {
        guard !isSilent, !isOver else { return }
        switch network.fate(client, endpoint.name, share: 0.02) {
        case .refused: isSilent = true
        case .lostBefore, .lostAfter: end()
        case .delivered: send(.array(["message", channel, text].map { .text(Array($0.utf8)) }))
        }
    }

    private func send(_ value: Lua.Value) {
        let reply = Self.bytes(value)
        // Timers of one instant run in any order.
        lastReply = max(lastReply + 1, VirtualTime.now + network.delay(0.2).nanoseconds)
        EventPoller.shared.schedule(after: .nanoseconds(Int64(lastReply - VirtualTime.now))) { [weak self] in
            guard let self, !isOver, !isSilent else { return }
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
        var bytes: [UInt8] = []
        add(value, to: &bytes)
        return bytes
    }

    private static func add(_ value: Lua.Value, to bytes: inout [UInt8]) {
        func line(_ mark: Unicode.Scalar, _ text: String) {
            bytes.append(UInt8(ascii: mark))
            bytes += text.utf8
            bytes += "\r\n".utf8
        }
        switch value {
        case .null: line("$", "-1")
        case .integer(let number): line(":", String(number))
        case .status(let text): line("+", text)
        case .text(let text):
            line("$", String(text.count))
            bytes += text
            bytes += "\r\n".utf8
        case .array(let elements):
            line("*", String(elements.count))
            for element in elements { add(element, to: &bytes) }
        case .error(let message): line("-", message)
        }
    }
}

import CloakroomCHiredis
import CloakroomCLinux
import CloakroomLoop
import CloakroomSimulationSystem
import Glibc

@testable import CloakroomRedis

/// A real Redis and its model, which get the same requests: production code has it in place of its connection.
///
/// The model's time is the server's: each request goes out between two TIME, and while a key is about to end, none does.
@LoopActor
final class RedisPair: RedisClient {
    private let comparison: Comparison
    private let socket: Int32
    private let parser = RedisReplyParser()
    private var data = RedisData()
    /// What the operation is called in which requests are sent.
    var label = ""

    let isReady = true
    let refusal: RedisError? = nil
    let pendingCount = 0
    let currentServers: [RedisAddress] = []
    var onRepeat: (@LoopActor () -> Void)?
    func settle(within limit: Duration) async {}
    func close() { _ = Glibc.close(socket) }

    init(_ comparison: Comparison) {
        self.comparison = comparison
        var error: Int32 = 0
        socket = cloakroom_connect_unix(comparison.options.server, &error)
        guard socket >= 0 else { ComparisonOptions.fail("no Redis at \(comparison.options.server)") }
        // What follows waits for its replies.
        _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) & ~O_NONBLOCK)
        forgetAll()
    }

    /// Empties both, scripts too.
    func forgetAll() {
        data = RedisData()
        _ = exchange(RedisCommand(["FLUSHALL"]).bytes, replies: 1)
        forgetScripts()
    }

    /// As a server that was started again with its data.
    func forgetScripts() {
        data.forgetScripts()
        _ = exchange(RedisCommand(["SCRIPT", "FLUSH"]).bytes, replies: 1)
    }

    // MARK: Requests

    func send(_ request: RedisRequest, _ completion: @escaping @LoopActor (RedisResponse) -> Void) {
        let times = RedisWords.positionsOfTimes(in: request)
        var response = compare(request, times)
        if case .reply(let cursor) = response, cursor.refusal == .refused(code: "NOSCRIPT"), let whole = request.whole {
            response = compare(whole, times)
        }
        completion(response)
    }

    private func compare(_ request: RedisRequest, _ times: RedisWords.Times) -> RedisResponse {
        waitUntilNothingEnds()
        let time = RedisCommand(["TIME"]).bytes
        send(time + request.bytes + time)
        let before = milliseconds(reply())
        let cursors = (0..<request.replies).map { _ in reply() }
        let after = milliseconds(reply())
        let response = RedisResponse.reply(RedisReplyCursor(joining: cursors))
        guard !data.ends.contains(where: { $0 + 1 >= before && $0 <= after + 1 }) else {
            comparison.undecided += 1
            forgetAll()
            return response
        }
        simulation_set_now(before * 1_000_000)
        var isSame = true
        for (words, cursor) in zip(RedisWords.commands(in: request.bytes), cursors) {
            var cursor = cursor
            let real = RedisReply(&cursor)
            let model = RedisReply(data.run(words))
            isSame =
                comparison.note(
                    "\(label) \(RedisWords.name(of: words))", RedisWords.text(words),
                    model: RedisWords.text(times.equalized(model, to: real)), real: RedisWords.text(real)) && isSame
        }
        if !isSame { forgetAll() }
        return response
    }

    private static let margin: UInt64 = 10

    private func waitUntilNothingEnds() {
        while true {
            let now = milliseconds(exchange(RedisCommand(["TIME"]).bytes, replies: 1)[0])
            if !data.ends.contains(where: { $0 + 3 >= now && $0 <= now + Self.margin }) { return }
            usleep(2000)
        }
    }

    private func milliseconds(_ cursor: RedisReplyCursor) -> UInt64 {
        var cursor = cursor
        guard case .array(let parts) = RedisReply(&cursor), parts.count == 2, case .text(let seconds) = parts[0],
            case .text(let microseconds) = parts[1], let whole = UInt64(String(decoding: seconds, as: UTF8.self)),
            let rest = UInt64(String(decoding: microseconds, as: UTF8.self))
        else { ComparisonOptions.fail("Redis has no time") }
        return whole * 1000 + rest / 1000
    }

    // MARK: Bytes

    private func exchange(_ bytes: [UInt8], replies: Int) -> [RedisReplyCursor] {
        send(bytes)
        return (0..<replies).map { _ in reply() }
    }

    private func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(socket, $0.baseAddress, $0.count) }
            guard count > 0 else { ComparisonOptions.fail("Redis takes no more: \(SystemError())") }
            rest = rest.dropFirst(count)
        }
    }

    private func reply() -> RedisReplyCursor {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            switch parser.next() {
            case .reply:
                defer { parser.clear() }
                return parser.cursor
            case .garbage: ComparisonOptions.fail("Redis' reply cannot be read")
            case .incomplete:
                let count = buffer.withUnsafeMutableBytes { Glibc.read(socket, $0.baseAddress, $0.count) }
                guard count > 0, buffer.withUnsafeBytes({ parser.feed(UnsafeRawBufferPointer(rebasing: $0[..<count])) })
                else { ComparisonOptions.fail("Redis has ended: \(SystemError())") }
            }
        }
    }
}

extension RedisReply {
    /// The model's.
    init(_ value: Lua.Value) {
        switch value {
        case .null: self = .null
        case .integer(let number): self = .integer(number)
        case .text(let bytes): self = .text(bytes)
        case .status(let text): self = .status(text)
        case .array(let values): self = .array(values.map { RedisReply($0) })
        case .error(let message): self = .error(message)
        }
    }
}

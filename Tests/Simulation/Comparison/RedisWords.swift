import CloakroomLoop

@testable import CloakroomRedis
@testable import CloakroomServer

/// Requests and replies of Redis, as texts to compare and to show.
enum RedisWords {
    /// The words of each command of a request.
    static func commands(in bytes: [UInt8]) -> [[[UInt8]]] {
        var commands: [[[UInt8]]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            commands.append(
                (0..<number(&rest)).map { _ in
                    let count = number(&rest)
                    defer { rest = rest.dropFirst(count + 2) }
                    return Array(rest.prefix(count))
                })
        }
        return commands
    }

    /// Of a line such as `*3` or `$12`.
    private static func number(_ rest: inout ArraySlice<UInt8>) -> Int {
        let line = rest.prefix { $0 != UInt8(ascii: "\r") }
        rest = rest.dropFirst(line.count + 2)
        return Int(String(decoding: line.dropFirst(), as: UTF8.self)) ?? 0
    }

    static func name(of words: [[UInt8]]) -> String { words.first.map { String(decoding: $0, as: UTF8.self) } ?? "" }

    /// Scripts by their first line.
    static func text(_ words: [[UInt8]]) -> String {
        words.map { word in
            let lines = String(decoding: word, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            return lines.count > 1 ? "\"\(lines[0])…\"" : lines[0].isEmpty ? "\"\"" : String(lines[0])
        }.joined(separator: " ")
    }

    /// Of an error only the code: it is what the project reads.
    static func text(_ reply: RedisReply) -> String {
        switch reply {
        case .null: "null"
        case .integer(let number): "\(number)"
        case .text(let bytes): "\"\(String(decoding: bytes, as: UTF8.self))\""
        case .status(let text): text
        case .array(let replies): "[\(replies.map { text($0) }.joined(separator: ", "))]"
        case .error(let message): "-\(RedisError(refusal: message).code ?? message)"
        }
    }

    // MARK: Times

    /// Which numbers of a reply are what is left of a time, in milliseconds: the server's clock goes on while it runs a
    /// request.
    enum Times {
        case none
        case whole
        /// Those at odd places of an array.
        case odd

        private static let tolerance = 20

        /// The model's reply, with the server's numbers where these are times and near enough.
        func equalized(_ model: RedisReply, to real: RedisReply) -> RedisReply {
            switch (self, model, real) {
            case (.whole, .integer(let one), .integer(let other)): Self.isNear(one, other) ? real : model
            case (.odd, .array(let ones), .array(let others)) where ones.count == others.count:
                .array(
                    zip(ones, others).enumerated().map { index, pair in
                        index % 2 == 1 ? Times.whole.equalized(pair.0, to: pair.1) : pair.0
                    })
            default: model
            }
        }

        private static func isNear(_ one: Int, _ other: Int) -> Bool {
            one >= 0 && other >= 0 && abs(one - other) <= tolerance
        }
    }

    @LoopActor private static let limiter = commands(in: RateLimiter.script.call(keys: [], arguments: []).short.bytes)[
        0][1]

    @LoopActor static func positionsOfTimes(in request: RedisRequest) -> Times {
        guard let words = commands(in: request.bytes).first else { return .none }
        if name(of: words) == "PTTL" { return .whole }
        return words.count > 1 && words[1] == limiter ? .odd : .none
    }
}

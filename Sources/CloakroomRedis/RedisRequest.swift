import CloakroomCHiredis
import CloakroomLoop

/// Calls of one script, a command, or both, as the bytes that go out together: in one write, and so in one round trip. On
/// a cluster the keys of each may lie in different slots.
package final class RedisRequest: Sendable {
    let bytes: [UInt8]
    /// Where in the bytes each call ends.
    private let callEnds: [Int]
    private let script: RedisScript?
    /// How many replies there will be.
    package let replies: Int
    /// Whether it may be sent again, once, when its reply was lost with the connection: it only reads, or a second count
    /// does little harm. Never for refunds, locks and lines of the audit.
    let mayRepeat: Bool

    package convenience init(_ command: RedisCommand, mayRepeat: Bool = false) {
        self.init(bytes: command.bytes, replies: 1, mayRepeat: mayRepeat)
    }

    /// Two commands that go out together.
    convenience init(_ first: RedisCommand, _ second: RedisCommand, mayRepeat: Bool) {
        self.init(bytes: first.bytes + second.bytes, replies: 2, mayRepeat: mayRepeat)
    }

    static let ping = RedisRequest(RedisCommand(["PING"]), mayRepeat: true)

    package convenience init(_ call: RedisScript.Call, beside command: RedisCommand? = nil, mayRepeat: Bool = false) {
        self.init([call], beside: command, mayRepeat: mayRepeat)
    }

    /// - Parameter calls: one or two, of one script.
    package init(_ calls: [RedisScript.Call], beside command: RedisCommand? = nil, mayRepeat: Bool = false) {
        precondition((1...2).contains(calls.count), "a request has one call or two")
        var bytes: [UInt8] = []
        callEnds = calls.map { call in
            bytes += call.short.bytes
            return bytes.count
        }
        self.bytes = bytes + (command?.bytes ?? [])
        script = calls[0].script
        replies = calls.count + (command == nil ? 0 : 1)
        self.mayRepeat = mayRepeat
    }

    /// The same with the text of the script, for a server that does not know it; `nil` without a script.
    ///
    /// Made from the short form, because thousands of requests are kept and hardly one is ever sent so.
    var whole: RedisRequest? {
        guard let script else { return nil }
        var whole: [UInt8] = []
        var start = 0
        for end in callEnds {
            whole += script.whole(RedisCommand(bytes: Array(bytes[start..<end]))).bytes
            start = end
        }
        return RedisRequest(bytes: whole + bytes[start...], replies: replies, mayRepeat: mayRepeat)
    }

    private init(bytes: [UInt8], replies: Int, mayRepeat: Bool) {
        self.bytes = bytes
        callEnds = []
        script = nil
        self.replies = replies
        self.mayRepeat = mayRepeat
    }
}

/// What became of a request.
package enum RedisResponse: Sendable {
    /// It may be a refusal. Of several the first is read first: see ``RedisReplyCursor/goTo(reply:)``.
    case reply(RedisReplyCursor)
    /// Of several replies all are lost with one.
    case failure(RedisError)
}

/// One command as Redis reads it (RESP), by hiredis' formatter.
package struct RedisCommand: Sendable, Equatable {
    package let bytes: [UInt8]

    package init(_ arguments: [String]) {
        var flat: [UInt8] = []
        flat.reserveCapacity(arguments.reduce(1) { $0 + $1.utf8.count })
        for argument in arguments { flat.append(contentsOf: argument.utf8) }
        flat.append(0)
        var lengths = arguments.map(\.utf8.count)
        bytes = unsafe flat.withUnsafeBytes { flat in
            var next = unsafe flat.baseAddress!.assumingMemoryBound(to: CChar.self)
            var pointers: [UnsafePointer<CChar>?] = unsafe lengths.map { length in
                defer { unsafe next += length }
                return unsafe next
            }
            var formatted: UnsafeMutablePointer<CChar>?
            let count = unsafe redisFormatCommandArgv(&formatted, Int32(lengths.count), &pointers, &lengths)
            guard count >= 0, let formatted = unsafe formatted else { preconditionFailure("redisFormatCommandArgv") }
            defer { unsafe redisFreeCommand(formatted) }
            return unsafe Array(UnsafeRawBufferPointer(start: formatted, count: Int(count)))
        }
    }

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// The command with other words in the place of its first ones.
    ///
    /// - Parameters:
    ///   - old: a command of those first words alone.
    ///   - new: a command of as many words.
    func replacing(leading old: RedisCommand, by new: RedisCommand) -> RedisCommand {
        // A command begins with how many words there are, on a line of its own: ours stays.
        let count = bytes.prefix { $0 != UInt8(ascii: "\n") } + [UInt8(ascii: "\n")]
        return RedisCommand(bytes: Array(count) + new.words + words[(words.startIndex + old.words.count)...])
    }

    private var words: ArraySlice<UInt8> { bytes.drop { $0 != UInt8(ascii: "\n") }.dropFirst() }
}

/// A Lua script, run by its SHA-1 and sent whole only when the server does not know it (`EVALSHA`, redis.io).
package struct RedisScript: Sendable {
    /// The script with its keys and arguments, ready to be sent any number of times.
    package struct Call: Sendable {
        let short: RedisCommand
        let script: RedisScript
    }

    private let source: String
    private let digest: String

    /// - Parameter digest: SHA-1 of `source` in hexadecimal, as Redis names it.
    package init(source: String, digest: String) {
        self.source = source
        self.digest = digest
    }

    package func call(keys: [String], arguments: [String]) -> Call {
        Call(short: RedisCommand(["EVALSHA", digest, String(keys.count)] + keys + arguments), script: self)
    }

    /// The same call by the text.
    func whole(_ short: RedisCommand) -> RedisCommand {
        short.replacing(leading: RedisCommand(["EVALSHA", digest]), by: RedisCommand(["EVAL", source]))
    }
}

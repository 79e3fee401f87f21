import Loop

/// A script's call, a command, or one beside the other, as the bytes that go out together: in one write, and so in one
/// round trip. On a cluster the keys of the two may lie in different slots.
package final class RedisQuestion: Sendable {
    let bytes: [UInt8]
    /// Of the bytes, those of the script's call.
    private let callCount: Int
    private let script: RedisScript?
    /// How many replies there will be.
    package let replies: Int
    /// Whether it may be sent again, once, when its reply was lost with the connection: it only reads, or a second count
    /// does little harm. Never for refunds, locks and lines of the audit.
    let mayRepeat: Bool

    package init(_ command: RedisCommand, mayRepeat: Bool = false) {
        bytes = command.bytes
        callCount = 0
        script = nil
        replies = 1
        self.mayRepeat = mayRepeat
    }

    static let ping = RedisQuestion(RedisCommand(["PING"]), mayRepeat: true)

    package init(_ call: RedisScript.Call, beside command: RedisCommand? = nil, mayRepeat: Bool = false) {
        self.mayRepeat = mayRepeat
        bytes = call.short.bytes + (command?.bytes ?? [])
        callCount = call.short.bytes.count
        script = call.script
        replies = command == nil ? 1 : 2
    }

    /// The same with the text of the script, for a server that does not know it; `nil` without a script.
    ///
    /// Made from the short form, because thousands of questions are kept and hardly one is ever asked so.
    var whole: RedisQuestion? {
        guard let script else { return nil }
        let call = script.whole(RedisCommand(bytes: Array(bytes[..<callCount])))
        return RedisQuestion(bytes: call.bytes + bytes[callCount...], replies: replies, mayRepeat: mayRepeat)
    }

    private init(bytes: [UInt8], replies: Int, mayRepeat: Bool) {
        self.mayRepeat = mayRepeat
        self.bytes = bytes
        callCount = 0
        script = nil
        self.replies = replies
    }
}

/// What became of a question.
package enum RedisAnswer: Sendable {
    /// It may be a refusal. Of two the first is read first: see ``RedisReading/goToOther()``.
    case reply(RedisReading)
    /// Of two replies both are lost with one.
    case failure(RedisError)
}

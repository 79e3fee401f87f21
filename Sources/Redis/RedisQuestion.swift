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

    package init(_ command: RedisCommand) {
        bytes = command.bytes
        callCount = 0
        script = nil
        replies = 1
    }

    package init(_ call: RedisScript.Call, beside command: RedisCommand? = nil) {
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
        return RedisQuestion(bytes: call.bytes + bytes[callCount...], replies: replies)
    }

    private init(bytes: [UInt8], replies: Int) {
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

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

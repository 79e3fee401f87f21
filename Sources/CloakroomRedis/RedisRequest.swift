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
    /// Where the key of each part lies on a cluster.
    let slots: RequestSlots
    /// Whether it may be sent again, once, when its reply was lost with the connection: it only reads, or a second count
    /// does little harm. Never for refunds, locks and lines of the audit.
    let mayRepeat: Bool
    /// Whether all of it has to go to the same server, on the same connection: what follows is about what was written.
    let isIndivisible: Bool

    package convenience init(_ command: RedisCommand, mayRepeat: Bool = false) {
        self.init(bytes: command.bytes, replies: 1, slots: RequestSlots([command]), mayRepeat: mayRepeat)
    }

    /// Two commands that go out together.
    package convenience init(_ first: RedisCommand, _ second: RedisCommand, mayRepeat: Bool) {
        self.init(
            bytes: first.bytes + second.bytes, replies: 2, slots: RequestSlots([first, second]), mayRepeat: mayRepeat)
    }

    static let ping = RedisRequest(RedisCommand(["PING"]), mayRepeat: true)

    package convenience init(_ call: RedisScript.Call, beside command: RedisCommand? = nil, mayRepeat: Bool = false) {
        self.init([call], beside: command, mayRepeat: mayRepeat)
    }

    /// A call, and a command that has to be run by the same server, behind it on the same connection, such as `WAIT`.
    ///
    /// - Parameter command: has no key, or one of the call's slot.
    package convenience init(_ call: RedisScript.Call, followedBy command: RedisCommand) {
        self.init([call], beside: command, isIndivisible: true)
    }

    /// - Parameter calls: one or two, of one script.
    package convenience init(_ calls: [RedisScript.Call], beside command: RedisCommand? = nil, mayRepeat: Bool = false)
    {
        self.init(calls, beside: command, mayRepeat: mayRepeat, isIndivisible: false)
    }

    private init(
        _ calls: [RedisScript.Call], beside command: RedisCommand?, mayRepeat: Bool = false, isIndivisible: Bool
    ) {
        precondition((1...2).contains(calls.count), "a request has one call or two")
        let ofCommand = command?.bytes ?? []
        // Exactly: thousands of requests are kept.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(calls.reduce(ofCommand.count) { $0 + $1.short.bytes.count })
        callEnds = calls.map { call in
            bytes += call.short.bytes
            return bytes.count
        }
        bytes += ofCommand
        self.bytes = bytes
        script = calls[0].script
        replies = calls.count + (command == nil ? 0 : 1)
        slots = RequestSlots(calls.map(\.short) + (command.map { [$0] } ?? []))
        self.mayRepeat = mayRepeat
        self.isIndivisible = isIndivisible
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
        return RedisRequest(
            bytes: whole + bytes[start...], replies: replies, slots: slots, mayRepeat: mayRepeat,
            isIndivisible: isIndivisible)
    }

    /// One of its parts, in the order of the replies, as a request.
    func part(_ number: Int) -> RedisRequest {
        guard replies > 1 else { return self }
        let part = Array(bytes[range(ofPart: number)])
        let isCall = number < callEnds.count
        return RedisRequest(
            bytes: part, callEnds: isCall ? [part.count] : [], script: isCall ? script : nil, replies: 1,
            slots: slots.alone(number), mayRepeat: mayRepeat)
    }

    /// Where it ends is known for calls, and for the one command behind them; that of other commands is read from the bytes.
    private func range(ofPart number: Int) -> Range<Int> {
        if !callEnds.isEmpty {
            let start = number == 0 ? 0 : callEnds[number - 1]
            return start..<(number < callEnds.count ? callEnds[number] : bytes.count)
        }
        var rest = bytes[...]
        for _ in 0..<number { rest = RedisCommand.rest(of: rest) }
        return rest.startIndex..<RedisCommand.rest(of: rest).startIndex
    }

    /// The same behind a command without a key, as `ASKING`.
    func after(_ command: RedisCommand) -> RedisRequest {
        RedisRequest(
            bytes: command.bytes + bytes, replies: replies + 1, slots: RequestSlots([]), mayRepeat: mayRepeat,
            isIndivisible: isIndivisible)
    }

    private init(
        bytes: [UInt8], callEnds: [Int] = [], script: RedisScript? = nil, replies: Int, slots: RequestSlots,
        mayRepeat: Bool, isIndivisible: Bool = false
    ) {
        self.bytes = bytes
        self.callEnds = callEnds
        self.script = script
        self.replies = replies
        self.slots = slots
        self.mayRepeat = mayRepeat
        self.isIndivisible = isIndivisible
    }
}

/// Of each of up to three parts, the slot of its key. Kept in place, because thousands of requests are kept.
struct RequestSlots: Sendable, Equatable {
    private var numbers: (Int16, Int16, Int16) = (-1, -1, -1)

    init(_ commands: [RedisCommand]) {
        for (index, command) in commands.enumerated() { self[index] = command.slot }
    }

    subscript(part: Int) -> HashSlot? {
        get {
            let number = part == 0 ? numbers.0 : part == 1 ? numbers.1 : numbers.2
            return number < 0 ? nil : HashSlot(number: Int(number))
        }
        set {
            let number = newValue.map { Int16($0.number) } ?? -1
            switch part {
            case 0: numbers.0 = number
            case 1: numbers.1 = number
            default: numbers.2 = number
            }
        }
    }

    func alone(_ part: Int) -> RequestSlots {
        var alone = RequestSlots([])
        alone[0] = self[part]
        return alone
    }

    static func == (one: RequestSlots, other: RequestSlots) -> Bool { one.numbers == other.numbers }
}

/// What became of a request.
package enum RedisResponse: Sendable {
    /// It may be a refusal. Of several the first is read first: see ``RedisReplyCursor/goTo(reply:)``.
    case reply(RedisReplyCursor)
    /// Of several replies all are lost with one.
    case failure(RedisError)
}

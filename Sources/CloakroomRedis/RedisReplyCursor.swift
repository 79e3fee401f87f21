/// One value of a reply.
package enum RedisValue: Sendable, Equatable {
    case text(Text)
    case integer(Int)
    /// So many elements, which come next.
    case array(Int)
    case null
    case status(Text)
    case error(Text)

    /// Where a reply's bytes lie; ``RedisReplyCursor/bytes(of:)`` gives them.
    package struct Text: Sendable, Equatable {
        fileprivate let start: Int32
        fileprivate let count: Int32

        /// hiredis takes no text beyond 512 MB.
        init(start: Int, count: Int) {
            self.start = Int32(start)
            self.count = Int32(count)
        }
    }
}

/// A reply to be read from its beginning to its end, where the parser has put it; with others after it, if
/// more than one command was sent.
package struct RedisReplyCursor: Sendable {
    private let values: [RedisValue]
    private let text: [UInt8]
    private let second: Int
    private let third: Int
    private var position = 0

    /// - Parameters:
    ///   - values: of all replies.
    ///   - second: where the second begins, and so `third`.
    init(values: [RedisValue], text: [UInt8], second: Int, third: Int) {
        self.values = values
        self.text = text
        self.second = second
        self.third = third
    }

    /// Goes to the beginning of the second reply, wherever the first was left.
    package mutating func goToOther() { position = second }

    /// - Parameter number: 0, 1 or 2.
    package mutating func goTo(reply number: Int) { position = number == 0 ? 0 : number == 1 ? second : third }

    /// The next value; after the last of a reply what comes is none of it.
    package mutating func next() -> RedisValue {
        guard position < values.count else { return .null }
        defer { position += 1 }
        return values[position]
    }

    package func bytes(of text: RedisValue.Text) -> ArraySlice<UInt8> {
        self.text[Int(text.start)..<Int(text.start) + Int(text.count)]
    }

    /// What the server says instead of a reply, before any of that is read.
    package var refusal: RedisError? {
        guard position < values.count, case .error(let message) = values[position] else { return nil }
        return RedisError(refusal: String(decoding: bytes(of: message), as: UTF8.self))
    }
}

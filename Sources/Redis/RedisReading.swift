/// One value of a reply.
package enum RedisValue: Sendable, Equatable {
    case text(Text)
    case integer(Int)
    /// So many elements, which come next.
    case array(Int)
    case null
    case status(Text)
    case error(Text)

    /// Where a reply's bytes lie; ``RedisReading/bytes(of:)`` gives them.
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

/// A reply to be read from its beginning to its end, where the parser has put it; with another after it, if two
/// commands were asked beside each other.
package struct RedisReading: Sendable {
    private let values: [RedisValue]
    private let text: [UInt8]
    private let other: Int
    private var place = 0

    /// - Parameters:
    ///   - values: of both replies.
    ///   - other: where the second begins.
    init(values: [RedisValue], text: [UInt8], other: Int) {
        self.values = values
        self.text = text
        self.other = other
    }

    /// Goes to the beginning of the second reply, wherever the first was left.
    package mutating func goToOther() { place = other }

    /// The next value; after the last of a reply what comes is none of it.
    package mutating func next() -> RedisValue {
        guard place < values.count else { return .null }
        defer { place += 1 }
        return values[place]
    }

    package func bytes(of text: RedisValue.Text) -> ArraySlice<UInt8> {
        self.text[Int(text.start)..<Int(text.start) + Int(text.count)]
    }

    /// What the server says instead of a reply, before any of that is read.
    package var refusal: RedisError? {
        guard case .error(let message) = values[place] else { return nil }
        return RedisError(refusal: String(decoding: bytes(of: message), as: UTF8.self))
    }
}

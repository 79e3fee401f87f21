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

/// A reply to be read from its beginning to its end, where the parser has put it.
package struct RedisReading: Sendable {
    private let values: [RedisValue]
    private let text: [UInt8]
    private var place: Int

    /// - Parameter place: where the reply begins among the values; others may come before and after it.
    init(values: [RedisValue], text: [UInt8], place: Int) {
        self.values = values
        self.text = text
        self.place = place
    }

    /// The next value; after the last one what comes is none of this reply's.
    package mutating func next() -> RedisValue {
        guard place < values.count else { return .null }
        defer { place += 1 }
        return values[place]
    }

    package func bytes(of text: RedisValue.Text) -> ArraySlice<UInt8> {
        self.text[Int(text.start)..<Int(text.start) + Int(text.count)]
    }

    /// What the server says instead of a reply, before any of it is read.
    package var refusal: RedisError? {
        guard case .error(let message) = values[place] else { return nil }
        return RedisError(refusal: String(decoding: bytes(of: message), as: UTF8.self))
    }
}

/// One command as Redis reads it: an array of bulk strings (redis.io, "Redis serialization protocol specification").
package struct RedisCommand: Sendable, Equatable {
    package let bytes: [UInt8]
    /// Where its keys lie on a cluster; `nil` without one.
    let slot: HashSlot?

    /// - Parameter key: on a cluster the command goes to the server that has it; `nil` for the command's own.
    package init(_ arguments: [String], near key: String? = nil) {
        slot = (key ?? Self.key(of: arguments)).map { HashSlot(of: $0.utf8) }
        var writer = RedisCommandWriter(words: arguments.count, bytes: arguments.reduce(0) { $0 + $1.utf8.count })
        for argument in arguments { writer.append(argument) }
        bytes = writer.bytes
    }

    /// A call of a script with one key or more.
    fileprivate init(_ call: RedisCommandWriter) {
        bytes = call.bytes
        slot = HashSlot(of: bytes[call.firstKey])
    }

    init(bytes: [UInt8]) {
        self.bytes = bytes
        slot = nil
    }

    /// Those of ours that have a key, which comes first. A cluster redirects what is sent anywhere for lack of a slot.
    private static let keyed: Set<String> = ["GET", "SET", "DEL", "INCR", "HGET", "HMGET", "XLEN", "XRANGE"]

    private static func key(of arguments: [String]) -> String? {
        switch arguments[0] {
        // Its digest, and how many keys there are, come before them.
        case "EVALSHA" where arguments.count > 3 && arguments[2] != "0": arguments[3]
        case let name where keyed.contains(name) && arguments.count > 1: arguments[1]
        default: nil
        }
    }

    /// What follows the first command of some.
    ///
    /// - Parameter bytes: of whole commands, each `*N` and then N times `$LENGTH` and so many bytes, by lines.
    static func rest(of bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = bytes
        for _ in 0..<number(&rest) {
            let length = number(&rest)
            rest = rest.dropFirst(length + 2)
        }
        return rest
    }

    /// The number of a line, behind its first character.
    private static func number(_ rest: inout ArraySlice<UInt8>) -> Int {
        var number = 0
        for digit in rest.dropFirst().prefix(while: { $0 != UInt8(ascii: "\r") }) {
            number = number * 10 + Int(digit) - 48
        }
        rest = rest.drop { $0 != UInt8(ascii: "\n") }.dropFirst()
        return number
    }

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

/// Writes a command word by word, without a string for each.
///
/// hiredis' formatter does the same with `sprintf` for each length, which is half of what a command costs then.
package struct RedisCommandWriter {
    fileprivate var bytes: [UInt8] = []
    private let count: Int
    private var words = 0
    /// Behind the script's digest and how many keys there are.
    fileprivate private(set) var firstKey = 0..<0
    private static let wordsBeforeKeys = 3

    /// - Parameters:
    ///   - count: of words, exactly.
    ///   - byteCount: of all of them, about.
    fileprivate init(words count: Int, bytes byteCount: Int) {
        self.count = count
        bytes.reserveCapacity(8 * (count + 1) + byteCount)
        begin("*", count)
    }

    /// One word, in its parts.
    package mutating func append(_ parts: String...) {
        begin("$", parts.reduce(0) { $0 + $1.utf8.count })
        let start = bytes.count
        for part in parts { bytes.append(contentsOf: part.utf8) }
        end(from: start)
    }

    package mutating func append(_ number: Int) {
        let decimal = Decimal(number)
        begin("$", decimal.count)
        let start = bytes.count
        append(decimal)
        end(from: start)
    }

    /// A line of a type and a length.
    private mutating func begin(_ type: Unicode.Scalar, _ length: Int) {
        bytes.append(UInt8(ascii: type))
        append(Decimal(length))
        endLine()
    }

    private mutating func end(from start: Int) {
        if words == Self.wordsBeforeKeys { firstKey = start..<bytes.count }
        words += 1
        precondition(words <= count, "a command has more words than it was begun with")
        endLine()
    }

    private mutating func endLine() {
        bytes.append(UInt8(ascii: "\r"))
        bytes.append(UInt8(ascii: "\n"))
    }

    private mutating func append(_ decimal: Decimal) {
        for index in decimal.start..<Decimal.capacity { bytes.append(decimal.digits[index]) }
    }

    /// A number's digits, behind its sign.
    private struct Decimal {
        static let capacity = 20
        private(set) var digits = InlineArray<20, UInt8>(repeating: 0)
        private(set) var start = Self.capacity
        var count: Int { Self.capacity - start }

        init(_ number: Int) {
            var rest = number.magnitude
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            guard number < 0 else { return }
            start -= 1
            digits[start] = UInt8(ascii: "-")
        }
    }
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

    /// The same for a call that is made often, written in place.
    ///
    /// - Parameters:
    ///   - keys: how many, one or more.
    ///   - arguments: how many.
    ///   - byteCount: of all of them, about.
    ///   - write: appends the keys, then the arguments.
    package func call(keys: Int, arguments: Int, bytes byteCount: Int, _ write: (inout RedisCommandWriter) -> Void)
        -> Call
    {
        var writer = RedisCommandWriter(words: 3 + keys + arguments, bytes: 50 + byteCount)
        writer.append("EVALSHA")
        writer.append(digest)
        writer.append(keys)
        write(&writer)
        return Call(short: RedisCommand(writer), script: self)
    }

    /// The same call by the text.
    func whole(_ short: RedisCommand) -> RedisCommand {
        short.replacing(leading: RedisCommand(["EVALSHA", digest]), by: RedisCommand(["EVAL", source]))
    }
}

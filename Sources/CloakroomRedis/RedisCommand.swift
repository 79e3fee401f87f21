import CloakroomCHiredis

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

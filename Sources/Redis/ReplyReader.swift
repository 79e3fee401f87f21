import CHiredis

/// hiredis' parser, fed with what the socket gave.
@safe final class ReplyReader {
    private let reader: UnsafeMutablePointer<redisReader>

    init() {
        guard let reader = unsafe redisReaderCreate() else { preconditionFailure("redisReaderCreate") }
        unsafe self.reader = reader
    }

    deinit { unsafe redisReaderFree(reader) }

    /// - Returns: whether the bytes can still be Redis'.
    func feed(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe redisReaderFeed(reader, bytes.bindMemory(to: CChar.self).baseAddress, bytes.count) == REDIS_OK
    }

    enum Next {
        case reply(RedisReply)
        case incomplete
        case garbage
    }

    func next() -> Next {
        var raw: UnsafeMutableRawPointer?
        guard unsafe redisReaderGetReply(reader, &raw) == REDIS_OK else { return .garbage }
        guard let raw = unsafe raw else { return .incomplete }
        defer { unsafe freeReplyObject(raw) }
        return unsafe .reply(RedisReply(raw.assumingMemoryBound(to: redisReply.self).pointee))
    }
}

/// One command as Redis reads it (RESP), by hiredis' formatter.
package struct RedisCommand: Sendable, Equatable {
    package let bytes: [UInt8]

    package init(_ arguments: [String]) { self.init(arguments.map { Array($0.utf8) }) }

    package init(_ arguments: [[UInt8]]) {
        var offset = 0
        let flat = arguments.flatMap(\.self) + [0]
        let lengths = arguments.map(\.count)
        bytes = unsafe flat.withUnsafeBufferPointer { flat in
            let base = unsafe UnsafeRawPointer(flat.baseAddress!).assumingMemoryBound(to: CChar.self)
            var pointers: [UnsafePointer<CChar>?] = unsafe []
            for length in lengths {
                unsafe pointers.append(base + offset)
                offset += length
            }
            var formatted: UnsafeMutablePointer<CChar>?
            let count = unsafe redisFormatCommandArgv(&formatted, Int32(arguments.count), &pointers, lengths)
            guard count >= 0, let formatted = unsafe formatted else { preconditionFailure("redisFormatCommandArgv") }
            defer { unsafe redisFreeCommand(formatted) }
            return unsafe Array(UnsafeRawBufferPointer(start: formatted, count: Int(count)))
        }
    }
}

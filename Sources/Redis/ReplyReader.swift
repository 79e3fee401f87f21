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

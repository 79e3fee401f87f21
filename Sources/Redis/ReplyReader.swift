import CHiredis

/// hiredis' parser, fed with what the socket gave.
///
/// It makes no objects: whatever it reads is put down at the end of one list, so that replies cost no allocation.
@safe final class ReplyReader {
    private let reader: UnsafeMutablePointer<redisReader>
    private let makers: UnsafeMutablePointer<redisReplyObjectFunctions>
    private let found: UnsafeMutablePointer<Found>
    /// Replies that are whole, and were not taken yet.
    private(set) var count = 0

    init() {
        unsafe makers = .allocate(capacity: 1)
        unsafe makers.initialize(to: Found.makers)
        unsafe found = .allocate(capacity: 1)
        unsafe found.initialize(to: Found())
        guard let reader = unsafe redisReaderCreateWithFunctions(makers) else {
            preconditionFailure("redisReaderCreateWithFunctions")
        }
        unsafe reader.pointee.privdata = UnsafeMutableRawPointer(found)
        unsafe self.reader = reader
    }

    deinit {
        unsafe redisReaderFree(reader)
        unsafe found.deinitialize(count: 1).deallocate()
        unsafe makers.deinitialize(count: 1).deallocate()
    }

    /// - Returns: whether the bytes can still be Redis'.
    func feed(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe redisReaderFeed(reader, bytes.bindMemory(to: CChar.self).baseAddress, bytes.count) == REDIS_OK
    }

    enum Next {
        case reply
        case incomplete
        case garbage
    }

    /// Reads one more reply.
    func next() -> Next {
        var root: UnsafeMutableRawPointer?
        guard unsafe redisReaderGetReply(reader, &root) == REDIS_OK else { return .garbage }
        guard unsafe root != nil else { return .incomplete }
        count += 1
        return .reply
    }

    /// The replies that are whole, one or two.
    var reading: RedisReading {
        unsafe RedisReading(values: found.pointee.values, text: found.pointee.text, other: found.pointee.other)
    }

    /// What the server says instead of the first reply, 0, or the second, 1.
    func refusal(_ number: Int) -> RedisError? {
        guard case .error = unsafe found.pointee.values[number == 0 ? 0 : found.pointee.other] else { return nil }
        var reading = reading
        if number == 1 { reading.goToOther() }
        return reading.refusal
    }

    /// Forgets all replies.
    ///
    /// - Precondition: none has been read in part.
    func clear() {
        unsafe found.pointee.clear()
        count = 0
    }
}

/// What the parser has read.
private struct Found {
    var values: [RedisValue] = []
    /// The bytes of all texts.
    var text: [UInt8] = []
    /// Where the second reply begins among the values.
    var other = 0

    mutating func clear() {
        values.removeAll(keepingCapacity: values.capacity < 1 << 16)
        if !text.isEmpty { text.removeAll(keepingCapacity: text.capacity < 1 << 20) }
    }

    private mutating func add(_ value: RedisValue, isRoot: Bool) {
        if isRoot { other = values.count }
        values.append(value)
    }

    private mutating func add(_ type: Int32, _ bytes: UnsafeRawBufferPointer, isRoot: Bool) {
        let place = RedisValue.Text(start: text.count, count: bytes.count)
        unsafe text.append(contentsOf: bytes)
        switch type {
        case REDIS_REPLY_STATUS: add(.status(place), isRoot: isRoot)
        case REDIS_REPLY_ERROR: add(.error(place), isRoot: isRoot)
        default: add(.text(place), isRoot: isRoot)
        }
    }

    /// What hiredis calls for each value that it reads, an array before its elements. It wants an object for each, and
    /// does nothing with it but to take none for a lack of memory.
    static var makers: redisReplyObjectFunctions {
        var makers = redisReplyObjectFunctions()
        unsafe makers.createString = { task, start, count in
            let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
            unsafe Found.of(task).pointee.add(task!.pointee.type, bytes, isRoot: task!.pointee.parent == nil)
            return unsafe UnsafeMutableRawPointer(Found.of(task))
        }
        unsafe makers.createArray = { task, count in
            unsafe Found.of(task).pointee.add(.array(Int(count)), isRoot: task!.pointee.parent == nil)
            return unsafe UnsafeMutableRawPointer(Found.of(task))
        }
        unsafe makers.createInteger = { task, number in
            unsafe Found.of(task).pointee.add(.integer(Int(number)), isRoot: task!.pointee.parent == nil)
            return unsafe UnsafeMutableRawPointer(Found.of(task))
        }
        unsafe makers.createNil = { task in
            unsafe Found.of(task).pointee.add(.null, isRoot: task!.pointee.parent == nil)
            return unsafe UnsafeMutableRawPointer(Found.of(task))
        }
        unsafe makers.freeObject = { _ in }
        return makers
    }

    private static func of(_ task: UnsafePointer<redisReadTask>?) -> UnsafeMutablePointer<Found> {
        unsafe task!.pointee.privdata.assumingMemoryBound(to: Found.self)
    }
}

import CloakroomCHiredis

/// hiredis' parser, fed with what the socket gave.
///
/// It makes no objects: whatever it reads is put down at the end of one list, so that replies cost no allocation.
///
/// A reply larger than ``Limits`` allow is none of Redis' to our commands.
@safe package final class RedisReplyParser {
    /// Of the replies that are read together.
    package struct Limits {
        /// Of texts, and of what has come of a text that is not whole.
        package var bytes = 64 << 20
        /// Elements of arrays included.
        package var values = 1 << 20
        /// Arrays within arrays; hiredis 0.14 stops at 7 by itself, later ones do not.
        package var depth = 7

        package init() {}
    }

    private let limits: Limits
    private let reader: UnsafeMutablePointer<redisReader>
    private let objectFunctions: UnsafeMutablePointer<redisReplyObjectFunctions>
    private let parsed: UnsafeMutablePointer<ParsedReplies>
    /// Replies that are whole, and were not taken yet.
    package private(set) var count = 0

    package init(limits: Limits = Limits()) {
        self.limits = limits
        unsafe objectFunctions = .allocate(capacity: 1)
        unsafe objectFunctions.initialize(to: ParsedReplies.objectFunctions)
        unsafe parsed = .allocate(capacity: 1)
        unsafe parsed.initialize(to: ParsedReplies(limits: limits))
        guard let reader = unsafe redisReaderCreateWithFunctions(objectFunctions) else {
            preconditionFailure("redisReaderCreateWithFunctions")
        }
        unsafe reader.pointee.privdata = UnsafeMutableRawPointer(parsed)
        unsafe self.reader = reader
    }

    deinit {
        unsafe redisReaderFree(reader)
        unsafe parsed.deinitialize(count: 1).deallocate()
        unsafe objectFunctions.deinitialize(count: 1).deallocate()
    }

    /// - Returns: whether the bytes can still be Redis'.
    package func feed(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard unsafe bytes.count <= limits.bytes - min(limits.bytes, Int(reader.pointee.len)) else { return false }
        return unsafe redisReaderFeed(reader, bytes.bindMemory(to: CChar.self).baseAddress, bytes.count) == REDIS_OK
    }

    package enum Next {
        case reply
        case incomplete
        case garbage
    }

    /// Reads one more reply.
    package func next() -> Next {
        var root: UnsafeMutableRawPointer?
        guard unsafe redisReaderGetReply(reader, &root) == REDIS_OK else { return .garbage }
        guard unsafe root != nil else { return .incomplete }
        count += 1
        // What hiredis has read without a word to us is no reply to our commands.
        return unsafe parsed.pointee.roots == count ? .reply : .garbage
    }

    /// The replies that are whole, one to three.
    package var cursor: RedisReplyCursor {
        unsafe RedisReplyCursor(
            values: parsed.pointee.values, text: parsed.pointee.text, second: parsed.pointee.second,
            third: parsed.pointee.third)
    }

    /// What the server says instead of a reply, from 0.
    func refusal(_ number: Int) -> RedisError? {
        // Looked up before there is a cursor, whose arrays every reply would have to retain.
        let position = number == 0 ? 0 : number == 1 ? unsafe parsed.pointee.second : unsafe parsed.pointee.third
        guard case .error = unsafe parsed.pointee.values[position] else { return nil }
        var cursor = cursor
        cursor.goTo(reply: number)
        return cursor.refusal
    }

    /// Forgets all replies.
    ///
    /// - Precondition: none has been read in part.
    package func clear() {
        unsafe parsed.pointee.clear()
        count = 0
    }
}

/// What the parser has read.
private struct ParsedReplies {
    let limits: RedisReplyParser.Limits
    var values: [RedisValue] = []
    /// The bytes of all texts.
    var text: [UInt8] = []
    /// Where the second reply begins among the values, and the third.
    var second = 0
    var third = 0
    /// Replies that have begun.
    var roots = 0

    init(limits: RedisReplyParser.Limits) { self.limits = limits }

    mutating func clear() {
        values.removeAll(keepingCapacity: values.capacity < 1 << 16)
        if !text.isEmpty { text.removeAll(keepingCapacity: text.capacity < 1 << 20) }
        roots = 0
    }

    /// - Returns: whether there is room.
    private mutating func add(_ value: RedisValue, _ task: UnsafePointer<redisReadTask>?) -> Bool {
        let depth = unsafe Self.depth(of: task)
        guard values.count < limits.values, depth <= limits.depth else { return false }
        if depth == 0 {
            if roots == 1 { second = values.count }
            if roots == 2 { third = values.count }
            roots += 1
        }
        values.append(value)
        return true
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer, _ task: UnsafePointer<redisReadTask>?) -> Bool {
        guard bytes.count <= limits.bytes - text.count else { return false }
        let position = RedisValue.Text(start: text.count, count: bytes.count)
        unsafe text.append(contentsOf: bytes)
        return switch unsafe task!.pointee.type {
        case REDIS_REPLY_STATUS: unsafe add(.status(position), task)
        case REDIS_REPLY_ERROR: unsafe add(.error(position), task)
        case REDIS_REPLY_STRING: unsafe add(.text(position), task)
        // A type of RESP3.
        default: false
        }
    }

    /// What hiredis calls for each value that it reads, an array before its elements. It wants an object for each, and
    /// does nothing with it but to end with an error when there is none, as for a lack of memory.
    static var objectFunctions: redisReplyObjectFunctions {
        var objectFunctions = redisReplyObjectFunctions()
        unsafe objectFunctions.createString = { task, start, count in
            let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
            return unsafe ParsedReplies.put(task) { unsafe $0.add(bytes, task) }
        }
        unsafe objectFunctions.createArray = { task, count in
            // Maps, sets and pushes of RESP3 are no replies to our commands.
            guard unsafe task!.pointee.type == REDIS_REPLY_ARRAY else { return nil }
            return unsafe ParsedReplies.put(task) { parsed in
                // hiredis 0.14 stops at 2³¹ by itself, later ones at 2³².
                unsafe Int(count) <= parsed.limits.values && parsed.add(.array(Int(count)), task)
            }
        }
        unsafe objectFunctions.createInteger = { task, number in
            unsafe ParsedReplies.put(task) { unsafe $0.add(.integer(Int(number)), task) }
        }
        unsafe objectFunctions.createNil = { task in
            unsafe ParsedReplies.put(task) { unsafe $0.add(.null, task) }
        }
        unsafe objectFunctions.freeObject = { _ in }
        unsafe cloakroom_refuse_resp3(&objectFunctions)
        return objectFunctions
    }

    /// - Returns: `nil` when there was no room.
    private static func put(
        _ task: UnsafePointer<redisReadTask>?, _ add: (inout ParsedReplies) -> Bool
    ) -> UnsafeMutableRawPointer? {
        let parsed = unsafe task!.pointee.privdata.assumingMemoryBound(to: ParsedReplies.self)
        return unsafe add(&parsed.pointee) ? UnsafeMutableRawPointer(parsed) : nil
    }

    /// 0 for a reply itself.
    private static func depth(of task: UnsafePointer<redisReadTask>?) -> Int {
        var depth = 0
        var parent = unsafe task!.pointee.parent
        while let next = unsafe parent {
            depth += 1
            unsafe parent = next.pointee.parent
        }
        return depth
    }
}

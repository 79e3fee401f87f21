@testable import CloakroomRedis
@testable import CloakroomServer

/// The first byte says where the second piece begins; whole or in two, the replies are the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let cut = bytes.first else { return 0 }
    let rest = bytes.dropFirst()
    let whole = replies([rest])
    precondition(replies([rest.prefix(Int(cut)), rest.dropFirst(Int(cut))]) == whole)
    return 0
}

/// - Returns: those before the first that is none; `nil` when there is none.
private func replies(_ pieces: [ArraySlice<UInt8>]) -> [RedisReply]? {
    let reader = RedisReplyParser()
    var replies: [RedisReply] = []
    for piece in pieces {
        guard piece.withUnsafeBytes({ reader.feed($0) }) else { return nil }
        reading: while true {
            switch reader.next() {
            case .reply: break
            case .incomplete: break reading
            case .garbage: return replies
            }
            var cursor = reader.cursor
            replies.append(RedisReply(&cursor))
            cursor = reader.cursor
            _ = try? UserRecord.parse(&cursor)
            _ = reader.refusal(0)
            reader.clear()
        }
    }
    return replies
}

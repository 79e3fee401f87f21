import Testing

@testable import CloakroomRedis

struct RedisReplyCursorTests {
    @Test func `tells what each reply refuses, and of what comes after the last one nothing`() {
        var cursor = RedisReplyCursor(reading: ":1\r\n-READONLY no\r\n+OK\r\n")
        #expect(cursor.refusal == nil)
        cursor.goTo(reply: 1)
        #expect(cursor.refusal == .refused(code: "READONLY"))
        cursor.goTo(reply: 2)
        #expect(cursor.refusal == nil && RedisReply(&cursor) == .status("OK"))
        #expect(cursor.refusal == nil && cursor.next() == .null)
    }
}

import CloakroomRedis
import Testing

/// Replies that are larger than any to our commands.
struct RedisReplyParserTests {
    private func read(_ text: String, _ change: (inout RedisReplyParser.Limits) -> Void = { _ in }) -> RedisReplyParser
        .Next?
    {
        var limits = RedisReplyParser.Limits()
        change(&limits)
        let reader = RedisReplyParser(limits: limits)
        return Array(text.utf8).withUnsafeBytes { reader.feed($0) } ? reader.next() : nil
    }

    @Test func `a text that does not end is given up`() {
        #expect(read("$1000000000000\r\n" + String(repeating: "x", count: 100)) { $0.bytes = 100 } == nil)
        #expect(read("$3\r\nabc\r\n") { $0.bytes = 100 } == .reply)
    }

    @Test func `texts that are too long together are given up`() {
        let array = "*3\r\n" + String(repeating: "$10\r\n0123456789\r\n", count: 3)
        #expect(read(array) { $0.bytes = array.utf8.count } == .reply)
        let reader = RedisReplyParser(
            limits: {
                var limits = RedisReplyParser.Limits()
                limits.bytes = 25
                return limits
            }())
        var last = RedisReplyParser.Next.incomplete
        // A piece at a time, each short enough.
        for byte in array.utf8 where last == .incomplete {
            last = withUnsafeBytes(of: byte) { reader.feed($0) } ? reader.next() : .garbage
        }
        #expect(last == .garbage)
    }

    @Test func `more values than any reply has are given up`() {
        #expect(read("*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n") { $0.values = 4 } == .garbage)
        #expect(read("*3\r\n:1\r\n:2\r\n:3\r\n") { $0.values = 4 } == .reply)
    }

    @Test(arguments: [(2, RedisReplyParser.Next.reply), (3, .garbage), (100_000, .garbage)])
    func `arrays within arrays end somewhere`(depth: Int, expected: RedisReplyParser.Next) {
        let text = String(repeating: "*1\r\n", count: depth) + ":1\r\n"
        #expect(read(text) { $0.depth = 2 } == expected)
    }

    @Test(arguments: [
        "*2147483648\r\n", "*1048577\r\n", "*-2\r\n", "$-2\r\n", ":9223372036854775808\r\n", ",1.5\r\n", "#t\r\n",
        "%1\r\n",
        "*1\r\n,1.5\r\n", "*2\r\n:1\r\n#t\r\n", "~1\r\n:1\r\n", ">1\r\n:1\r\n", "(12\r\n", "=7\r\ntxt:abc\r\n",
    ])
    func `what is no RESP2 is garbage`(text: String) {
        #expect(read(text) == .garbage)
    }
}

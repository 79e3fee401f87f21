import Testing

@testable import CloakroomRedis

/// As redis.io, "Redis serialization protocol specification", has arrays of bulk strings.
struct RedisCommandTests {
    @Test func `A command is an array of bulk strings, each with its length in bytes`() {
        let command = RedisCommand(["SET", "é", "", "a\r\nb"])
        let text = String(decoding: command.bytes, as: UTF8.self)
        #expect(text == "*4\r\n$3\r\nSET\r\n$2\r\né\r\n$0\r\n\r\n$4\r\na\r\nb\r\n")
    }

    @Test(arguments: [0, 9, 10, 99, 100, 123_456_789, .max, -1, -10, .min])
    func `A call written in place is the call by texts`(number: Int) {
        let script = RedisScript(source: "return 1", digest: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db")
        let key = "tag:{\(number)}:of a user"
        let inPlace = script.call(keys: 2, arguments: 3, bytes: 0) { words in
            words.append("tag:", "{", String(number), "}", ":of a user")
            words.append("k{\(number)}")
            words.append(number)
            words.append("")
            words.append("ü", String(repeating: "x", count: 1000))
        }
        let byTexts = script.call(
            keys: [key, "k{\(number)}"],
            arguments: [String(number), "", "ü" + String(repeating: "x", count: 1000)])
        #expect(inPlace.short == byTexts.short)
        #expect(inPlace.short.slot == HashSlot(of: key.utf8))
    }
}

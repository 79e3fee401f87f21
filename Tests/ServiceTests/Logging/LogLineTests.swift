import Loop
import Support
import Testing

@testable import Service

@Suite(.onLoop)
struct LogLineTests {
    @LoopActor private func line(_ text: String) -> String {
        String(decoding: Log.line("2027-01-15T08:00:00Z", .info, "request", ["a": .text(text)]), as: UTF8.self)
    }

    @Test(arguments: [
        ("plain", "plain"), ("\"quoted\" \\", #"\"quoted\" \\"#), ("a\nb\r\tc", #"a\nb\r\tc"#),
        ("\u{1B}[31mred\u{7}", #"\u001b[31mred\u0007"#), ("\u{0}", #"\u0000"#), ("del\u{7F}", "del"),
        ("\u{9B}2Jcsi\u{85}", "2Jcsi"), ("a\u{2028}b\u{2029}c", "abc"), ("\u{202E}gnp.exe", "gnp.exe"),
        ("\u{2066}x\u{2069}", "x"), ("ü 日本 😀", "ü 日本 😀"), ("</script>", "</script>"),
    ])
    @LoopActor func `lets nothing out of its string`(text: String, expected: String) {
        #expect(
            line(text)
                == "{\"time\":\"2027-01-15T08:00:00Z\",\"level\":\"info\",\"message\":\"request\",\"a\":\"\(expected)\"}"
        )
    }

    @Test @LoopActor func `cuts what is too long`() {
        #expect(line(String(repeating: "x", count: 257)) == line(String(repeating: "x", count: 256)))
        #expect(line(String(repeating: "\n", count: 100_000)).utf8.count < 1000)
    }

    @Test @LoopActor func `leaves out what is not there, and writes numbers as numbers`() {
        let line = Log.line("t", .error, "m", ["a": .integer(-1), "b": nil, "c": .milliseconds(.microseconds(1999))])
        #expect(String(decoding: line, as: UTF8.self) == #"{"time":"t","level":"error","message":"m","a":-1,"c":1}"#)
    }
}

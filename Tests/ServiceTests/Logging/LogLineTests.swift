import Foundation
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct LogLineTests {
    private static let start = LineStart.text(at: Date(timeIntervalSince1970: 1_800_000_000))

    private func line(_ text: String) -> String {
        var line = LogLine()
        line.begin(Self.start, .info, "request")
        line.text("a", text)
        line.end()
        return String(decoding: line.bytes, as: UTF8.self)
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

    @Test @LoopActor func `leaves out what is not there, and writes numbers as numbers`() async throws {
        let folder = try TemporaryFolder()
        let log = Log(
            sink: try LineSink(path: folder["log"]), level: .info, now: { Date(timeIntervalSince1970: 1_800_000_000) })
        log.write(.error, "m", ["a": .integer(-1), "b": nil, "c": .milliseconds(.microseconds(1999))])
        log.write(.debug, "too little") { _ in Issue.record("the line is not written") }
        log.write(.info, "n") { line in
            line.integer("d", .min)
            line.integer("e", 1_234_567_890)
            line.integer("f", 0)
            line.id("g", RequestID(0x0123_4567_89AB_CDEF))
        }
        // Lines are written when the turn ends.
        try await LoopActor.sleep(for: .zero)
        #expect(
            try String(contentsOfFile: folder["log"], encoding: .utf8) == """
                {"time":"2027-01-15T08:00:00Z","level":"error","message":"m","a":-1,"c":1}
                {"time":"2027-01-15T08:00:00Z","level":"info","message":"n","d":-9223372036854775808,\
                "e":1234567890,"f":0,"g":"0123456789abcdef"}

                """)
    }
}

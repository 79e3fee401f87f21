import CloakroomLibcurl
import Testing

struct CurlHeadReaderTests {
    private static func read(_ text: String, maximumBytes: Int = 1000) -> (lines: [String], reader: CurlHeadReader) {
        var reader = CurlHeadReader(maximumBytes: maximumBytes)
        var lines: [String] = []
        for part in text.split(separator: "\r\n", omittingEmptySubsequences: false).dropLast() {
            let line = Array("\(part)\r\n".utf8)
            func piece(_ range: Range<Int>) -> String { String(decoding: line[range], as: UTF8.self) }
            switch reader.read(line.span) {
            case .status: lines.append("status")
            case .field(let name, let value): lines.append("\(piece(name))=\(piece(value))")
            case .end: lines.append("end")
            case .nothing: lines.append("nothing")
            case .unusable: lines.append("unusable")
            case .tooLong: lines.append("too long")
            }
        }
        return (lines, reader)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nA:  b \r\nC:\r\n\r\n", ["status", "A=b", "C=", "end"], 200, true),
        ("HTTP/1.1 204\r\n\r\n", ["status", "end"], 204, true),
        ("HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 404 No\r\n\r\n", ["status", "nothing", "status", "end"], 404, true),
        ("HTTP/1.1 103 Hints\r\nA: b\r\n\r\n", ["status", "A=b", "nothing"], 103, false),
        ("HTTP/1.1 101 Switching\r\n\r\n", ["status", "unusable"], 101, false),
        ("HTTP/1.1 99 Low\r\n\r\n", ["status", "unusable"], 99, false),
        ("HTTP/1.1 1000 High\r\n\r\n", ["status", "unusable"], 1000, false),
        ("HTTP/1.1 20000 OK\r\n\r\n", ["status", "unusable"], 0, false),
        ("HTTP/1.1 OK\r\n\r\n", ["status", "unusable"], 0, false), ("A: b\r\n\r\n", ["A=b", "unusable"], 0, false),
        // Behind the body.
        (
            "HTTP/1.1 200 OK\r\n\r\nDate: never\r\nHTTP/1.1 500 No\r\n\r\n",
            ["status", "end", "nothing", "nothing", "nothing"], 200, true
        ),
    ])
    func `reads the head of the response, and none but that`(
        text: String, lines: [String], status: Int, isWhole: Bool
    ) {
        let (read, reader) = Self.read(text)
        #expect(read == lines)
        #expect(reader.status == status && reader.isWhole == isWhole)
    }

    @Test func `counts the bytes of all lines`() {
        let text = "HTTP/1.1 100 A\r\n\r\nHTTP/1.1 200 B\r\n\r\n"
        #expect(Self.read(text, maximumBytes: text.utf8.count).lines.last == "end")
        #expect(Self.read(text, maximumBytes: text.utf8.count - 1).lines.last == "too long")
    }
}

import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomFastCGI

@Suite(.onLoop)
struct ResponseEncoderTests {
    @Test func `writes an answer whole, for the request it answers`() {
        let response = Response(status: 413, fields: ["Content-Type": "text/plain"], body: Array("no".utf8))
        let text = "Status: 413 Content Too Large\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\nno"
        #expect(
            ResponseEncoder.records(of: response, to: 0x0102)
                == [1, 6, 1, 2, 0, UInt8(text.utf8.count), 0, 0] + Array(text.utf8) + [1, 6, 1, 2, 0, 0, 0, 0]
                + [1, 3, 1, 2, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test func `answers what the application can take`() {
        #expect(
            ResponseEncoder.values(connections: 300)
                == [1, 10, 0, 0, 0, 55, 0, 0] + [14, 3] + Array("FCGI_MAX_CONNS300".utf8)
                + [13, 3] + Array("FCGI_MAX_REQS300".utf8) + [15, 1] + Array("FCGI_MPXS_CONNS0".utf8))
    }

    private func answer(_ response: Response) throws -> FastCGIResponse? {
        var reader = FastCGIResponseReader()
        try reader.feed(ResponseEncoder.records(of: response, to: 1))
        #expect(reader.isBetweenAnswers && reader.answers.count == 1)
        return reader.answers.first
    }

    @Test func `writes the head as CGI has it, and no field that a value smuggled in`() throws {
        let response = Response(status: 401, fields: ["A": "1\r\nSet-Cookie: x", "B": ""], body: Array("body".utf8))
        #expect(
            try answer(response)?.text
                == "Status: 401 Unauthorized\r\nContent-Length: 4\r\nA: 1Set-Cookie: x\r\nB: \r\n\r\nbody")
    }

    @Test(arguments: ["\r", "\n"]) func `one half of a line break goes as well`(half: String) throws {
        let response = Response(status: 200, fields: ["A": "1\(half)Set-Cookie: x"])
        #expect(try answer(response)?.text == "Status: 200 OK\r\nContent-Length: 0\r\nA: 1Set-Cookie: x\r\n\r\n")
    }

    /// A record holds 65,535 bytes, and the head stands in the first.
    @Test(arguments: [0, 9, 10, 65_380, 65_440, 65_498, 65_499, 65_535, 65_536, 131_070, 1_000_003])
    func `cuts a large answer into records and loses nothing of it`(count: Int) throws {
        let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let answer = try answer(Response(status: 200, body: body))
        #expect(answer?.body == body)
        #expect(answer?.head == "Status: 200 OK\r\nContent-Length: \(count)")
    }

    @Test func `appends to what is there`() {
        var records: [UInt8] = [7]
        ResponseEncoder.append(Response(status: 503), to: 1, in: &records)
        #expect(records == [7] + ResponseEncoder.records(of: Response(status: 503), to: 1))
    }

    @Test(arguments: [
        (200, "OK"), (400, "Bad Request"), (401, "Unauthorized"), (403, "Forbidden"), (404, "Not Found"),
        (405, "Method Not Allowed"), (413, "Content Too Large"), (415, "Unsupported Media Type"),
        (429, "Too Many Requests"), (500, "Internal Server Error"), (503, "Service Unavailable"), (418, "Status"),
    ])
    func `each status has its reason`(status: Int, reason: String) throws {
        #expect(try answer(Response(status: status))?.head.hasPrefix("Status: \(status) \(reason)\r\n") == true)
    }
}

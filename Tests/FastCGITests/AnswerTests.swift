import HTTPValues
import Loop
import Support
import Testing

@testable import FastCGI

@Suite(.onLoop)
struct AnswerTests {
    @Test func `writes a refusal whole, for the request it refuses`() {
        let response = Response(status: 413, fields: ["Content-Type": "text/plain"], body: Array("no".utf8))
        let text = "Status: 413 Content Too Large\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\nno"
        #expect(
            Answers.refusal(requestID: 0x0102, response)
                == [1, 6, 1, 2, 0, UInt8(text.utf8.count), 0, 0] + Array(text.utf8) + [1, 6, 1, 2, 0, 0, 0, 0]
                + [1, 3, 1, 2, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test func `answers what the application can take`() {
        #expect(
            Answers.values(connections: 300)
                == [1, 10, 0, 0, 0, 55, 0, 0] + [14, 3] + Array("FCGI_MAX_CONNS300".utf8)
                + [13, 3] + Array("FCGI_MAX_REQS300".utf8) + [15, 1] + Array("FCGI_MPXS_CONNS0".utf8))
    }

    @Test @LoopActor func `proves that libfcgi reads and writes through us`() throws { try SelfTest.run() }

    @LoopActor private func answer(_ response: Response) throws -> FastCGIAnswer? {
        let parser = LibFCGIRequest()
        let parsed = parser.parse(FastCGIRequest(target: "/").bytes)
        #expect(parsed?.path == "/")
        var reader = FastCGIAnswerReader()
        try reader.feed(parser.records(of: response))
        #expect(reader.isBetweenAnswers && reader.answers.count == 1)
        return reader.answers.first
    }

    @Test @LoopActor func `writes the head as CGI has it, and no field that a value smuggled in`() throws {
        let response = Response(status: 401, fields: ["A": "1\r\nSet-Cookie: x", "B": ""], body: Array("body".utf8))
        #expect(
            try answer(response)?.text
                == "Status: 401 Unauthorized\r\nContent-Length: 4\r\nA: 1Set-Cookie: x\r\nB: \r\n\r\nbody")
    }

    @Test @LoopActor func `cuts a large answer into records and loses nothing of it`() throws {
        let body = (0..<1_000_003).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(try answer(Response(status: 200, body: body))?.body == body)
    }

    @Test @LoopActor func `leaves nothing behind of a request that nobody answered`() throws {
        do {
            let abandoned = LibFCGIRequest()
            _ = abandoned.parse(FastCGIRequest(target: "/").bytes)
        }
        #expect(
            try answer(Response(status: 503))?.text == "Status: 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
    }

    @Test @LoopActor func `goes on after a request that it would not have`() throws {
        let parser = LibFCGIRequest()
        let none = parser.parse(FastCGIRequest([("A", "b")]).bytes)
        #expect(none == nil)
        let next = parser.parse(FastCGIRequest(target: "/next").bytes)
        #expect(next?.path == "/next")
        #expect(
            try answer(Response(status: 503))?.text == "Status: 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
    }
}

import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomCurl

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct SentHeadTests {
    @Test(arguments: HeadForm.allCases)
    @LoopActor func `this libcurl sends what was signed`(form: HeadForm) throws {
        let sent = try #require(SentHead.sent(form))
        #expect(SentHead.isWhatWasSigned(sent), "\(String(decoding: sent, as: UTF8.self))")
        #expect(SentHead.form == .text)
    }

    private static let whole = """
        PUT /a/../b//%7Ec%2Fd?x-id=%2B&list&y= HTTP/1.1\r
        host: bucket.example:8443\r
        x-amz-date: 20261128T000000Z\r
        authorization: AWS4-HMAC-SHA256 a=b, c\r
        content-length: 4\r
        user-agent: cloakroom HTTP/1.1\r
        \r
        body
        """

    @Test(arguments: [
        ("%7Ec", "~c"), ("a/../b", "b"), ("b//", "b/"), ("&y=", "&y"), ("%2B", "+"), ("PUT", "POST"),
        ("c\r\ncontent", "c\r\na: b\r\ncontent"),
        ("HTTP/1.1\r\nhost", "HTTP/1.0\r\nhost"), ("host: bucket.example:8443\r\n", ""), (":8443", ""),
        ("a=b, c", "a=b,c"),
        ("body", "bod"),
        ("x-amz-date", "host: b\r\nx-amz-date"), ("length: 4", "length: 5"),
    ])
    @LoopActor func `what differs from what was signed is noticed`(part: String, replacement: String) {
        #expect(SentHead.isWhatWasSigned(Array(Self.whole.utf8)))
        let changed = Self.whole.replacing(part, with: replacement)
        #expect(changed != Self.whole)
        #expect(!SentHead.isWhatWasSigned(Array(changed.utf8)))
    }

    @Test @LoopActor func `a libcurl that changes the text is given the fields as a list`() {
        let whole = Array(Self.whole.utf8)
        #expect(
            SentHead.form(of: HeadForm.allCases) { $0 == .text ? Array("GET / HTTP/1.1\r\n\r\n".utf8) : whole }
                == .lines)
        #expect(SentHead.form(of: HeadForm.allCases) { _ in whole } == .text)
        // Nothing came out: that is no libcurl's doing.
        #expect(SentHead.form(of: HeadForm.allCases) { _ in nil } == .text)
    }

    /// One handle for all of them.
    @Test @LoopActor func `fields in a list are sent as they are`() async throws {
        let server = try HTTPServer { _ in [.answer(200)] }
        let transport = LoopCurlTransport(options: .init(), form: .lines)
        let requests: [(method: String, fields: HeaderFields, body: [UInt8])] = [
            ("PUT", ["host": "a", "x-empty": ""], []), ("POST", ["host": "a", "content-type": "b"], [1, 2]),
            ("GET", ["host": "a", "accept": "b\t c"], []), ("HEAD", ["host": "b"], []), ("DELETE", ["host": "a"], []),
        ]
        for request in requests {
            let request = UpstreamRequest(
                method: request.method, url: server.url + "/a/../b//c%2e?x=1&y", fields: request.fields,
                body: request.body)
            _ = try await transport.send(request, timeout: .seconds(10))
        }
        #expect(server.connections == 1)
        #expect(server.requests.map(\.method) == requests.map(\.method))
        #expect(server.requests.map(\.body) == requests.map(\.body))
        #expect(Set(server.requests.map(\.target)) == ["/a/../b//c%2e?x=1&y"])
        #expect(
            server.requests.map { request in Set(request.fields.map { "\($0.name.lowercased()): \($0.value)" }) } == [
                ["host: a", "x-empty: ", "content-length: 0", "user-agent: cloakroom"],
                ["host: a", "content-type: b", "content-length: 2", "user-agent: cloakroom"],
                ["host: a", "accept: b\t c", "user-agent: cloakroom"], ["host: b", "user-agent: cloakroom"],
                ["host: a", "content-length: 0", "user-agent: cloakroom"],
            ])
    }
}

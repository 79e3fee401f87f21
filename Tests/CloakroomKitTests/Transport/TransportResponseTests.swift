import CloakroomKit
import Foundation
import Testing

/// What comes back.
@Suite(.timeLimit(.minutes(1))) struct TransportResponseTests {
    private func response(
        _ bytes: String, from maker: TransportMaker, to method: String = "GET",
        into destination: HTTPDestination = .memory(maximumBytes: 1 << 20)
    ) async throws -> HTTPResponse {
        let server = try LoopbackServer { connection, _ in
            if connection.readRequest() != nil { connection.write(bytes) }
        }
        defer { server.stop() }
        return try await maker.make().send(
            HTTPRequest(method: method, url: URL(string: server.url)!, destination: destination))
    }

    @Test(arguments: TransportMaker.all) func `status, fields and body come back`(maker: TransportMaker) async throws {
        let response = try await response(ok("hello", "X-A: 1", "x-b: 2, 3", "ETag: \"e\""), from: maker)
        #expect(response.status == 200)
        #expect(response.body == Data("hello".utf8))
        #expect(response.byteCount == 5)
        #expect(response["etag"] == "\"e\"")
        #expect(
            response.fields.map { "\($0.name.lowercased()): \($0.value)" }.sorted()
                == ["content-length: 5", "etag: \"e\"", "x-a: 1", "x-b: 2, 3"])
    }

    @Test(
        arguments: TransportMaker.all,
        [
            ("HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
            ("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 9\r\n\r\n", 304, ""),
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", 404, "no"),
            ("HTTP/1.1 503 Slow Down\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\nno", 503, "no"),
            ("HTTP/1.1 407 Proxy\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 2\r\n\r\nno", 407, "no"),
            ("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno", 401, "no"),
            ("HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer error=\"x\"\r\nContent-Length: 2\r\n\r\nno", 401, "no"),
            ("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno", 401, "no"),
            ("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 2\r\n\r\nno", 401, "no"),
            (
                "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"x\", nonce=\"1\"\r\nContent-Length: 2\r\n\r\nno",
                401,
                "no"
            ),
            ("HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 2\r\n\r\nno", 301, "no"),
            ("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 2\r\n\r\nno", 302, "no"),
            ("HTTP/1.1 307 Temporary\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 2\r\n\r\nno", 307, "no"),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok"),
            ("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n", 200, "abcde"),
            ("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end", 200, "until the end"),
            ("HTTP/1.0 200 OK\r\n\r\nold", 200, "old"),
            ("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 2\r\n\r\nok", 200, "ok"),
            (
                "HTTP/1.1 200 OK\r\nX-Big: \(String(repeating: "a", count: 60_000))\r\nContent-Length: 2\r\n\r\nok",
                200,
                "ok"
            ),
        ])
    func `whatever the status, a response is a response`(maker: TransportMaker, given: (String, Int, String))
        async throws
    {
        let (bytes, status, body) = given
        let response = try await response(bytes, from: maker)
        #expect(response.status == status)
        #expect(String(decoding: response.body, as: UTF8.self) == body)
    }

    @Test(arguments: TransportMaker.all) func `a redirect without a place is a response, too`(maker: TransportMaker)
        async throws
    {
        let response = try await response(
            "HTTP/1.1 301 Moved\r\nx-amz-bucket-region: eu-west-1\r\nContent-Length: 2\r\n\r\nno", from: maker)
        #expect(response.status == 301)
        #expect(response["x-amz-bucket-region"] == "eu-west-1")
    }

    @Test(arguments: TransportMaker.all) func `the length of a response to HEAD is not missed`(maker: TransportMaker)
        async throws
    {
        let response = try await response(
            "HTTP/1.1 200 OK\r\nContent-Length: 123456789\r\nContent-Encoding: gzip\r\n\r\n", from: maker, to: "HEAD",
            into: .memory(maximumBytes: 0))
        #expect(response.status == 200)
        #expect(response["Content-Length"] == "123456789")
        #expect(response.byteCount == 0)
    }

    @Test(
        arguments: TransportMaker.all,
        [
            ("", HTTPTransportError.interrupted),
            ("garbage\r\n\r\n", .interrupted),
            ("HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nno", .interrupted),
            ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", .interrupted),
            ("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf", .interrupted),
            ("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n", .interrupted),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", .interrupted),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n", .interrupted),
            ("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", .interrupted),
        ])
    func `what is no whole response is a failure`(maker: TransportMaker, given: (String, HTTPTransportError))
        async throws
    {
        let (bytes, error) = given
        await #expect(throws: error) { try await response(bytes, from: maker) }
    }

    // `printf hello | gzip -n`.
    private static let coded = Data(
        base64Encoded: "H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA==")!

    @Test(
        arguments: TransportMaker.all,
        [
            (200, HTTPDestination.memory(maximumBytes: 99)), (206, .file(URL(fileURLWithPath: "/dev/null"), offset: 0)),
        ])
    func `a success is never decoded in silence`(maker: TransportMaker, given: (Int, HTTPDestination)) async throws {
        let (status, destination) = given
        guard maker.isDecoding else {
            return #expect(try await coded(maker, status, destination).byteCount == Int64(Self.coded.count))
        }
        await #expect(throws: HTTPTransportError.encoded) { try await coded(maker, status, destination) }
    }

    @Test(arguments: ["aws-chunked", "gzip"])
    func `what cannot be decoded is told as such by who decodes`(coding: String) async throws {
        let bytes = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: 2\r\n\r\nno"
        for maker in TransportMaker.all {
            do {
                #expect(try await response(bytes, from: maker).body == Data("no".utf8))
                #expect(!maker.isDecoding)
            } catch {
                #expect(error as? HTTPTransportError == .encoded && maker.isDecoding)
            }
        }
    }

    @Test(arguments: TransportMaker.all) func `the text of an error may be decoded`(maker: TransportMaker) async throws
    {
        let response = try await coded(maker, 403, .memory(maximumBytes: 99))
        #expect(response.status == 403)
        #expect(response.body == (maker.isDecoding ? Data("hello".utf8) : Self.coded))
    }

    private func coded(
        _ maker: TransportMaker, _ status: Int, _ destination: HTTPDestination
    ) async throws -> HTTPResponse {
        let server = try LoopbackServer { connection, _ in
            guard connection.readRequest() != nil else { return }
            connection.write(
                "HTTP/1.1 \(status) X\r\nContent-Encoding: gzip\r\nContent-Length: \(Self.coded.count)\r\n\r\n")
            _ = connection.write(Self.coded)
        }
        defer { server.stop() }
        return try await maker.make().send(.get(server.url, into: destination))
    }
}

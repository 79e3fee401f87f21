import CloakroomKit
import Foundation
import Testing

/// What goes over the wire.
@Suite(.timeLimit(.minutes(1))) struct TransportRequestTests {
    private func sent(
        by maker: TransportMaker, path: String = "/", _ change: (inout HTTPRequest) -> Void = { _ in }
    ) async throws -> RawRequest {
        let server = try LoopbackServer(answering: ok())
        defer { server.stop() }
        var request = HTTPRequest.get(server.url + path)
        change(&request)
        _ = try await maker.make().send(request)
        var sent = try #require(server.requests.first)
        sent.fields.removeAll { $0.hasPrefix("User-Agent:") || $0.hasPrefix("Accept-Language:") }
        sent.fields = sent.fields.filter { $0 != "Host: 127.0.0.1:\(server.port)" }.sorted()
        return sent
    }

    @Test(
        arguments: TransportMaker.all,
        [
            "/", "/a%2Fb", "/a%2Bb+c", "/100%25", "//a//b/", "/a/.../b", "/a/..b", "/dots..", "/%c3%a9%C3%A9",
            "/?a=%2F%2B%20&b",
            "/x?X-Amz-Credential=AKIA%2F20261122%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Signature=0f",
            "/a=b&c;d,e:f@g",
            "/%7Etilde~", "/a%00b", "/?q='%22(*)!",
        ])
    func `path and query go out byte for byte`(maker: TransportMaker, path: String) async throws {
        #expect(try await sent(by: maker, path: path).line == "GET \(path) HTTP/1.1")
    }

    /// libcurl 8.8 and later ones, over which `URLSession` sends on Linux, leave an empty query out. S3's URLs have none.
    @Test(arguments: TransportMaker.all)
    func `an empty query goes out as it is, or not at all`(maker: TransportMaker) async throws {
        #expect(["GET /a? HTTP/1.1", "GET /a HTTP/1.1"].contains(try await sent(by: maker, path: "/a?").line))
    }

    @Test(arguments: TransportMaker.all) func `fields go out as they are, beside the few that every request has`(
        maker: TransportMaker
    ) async throws {
        let fields: [(name: String, value: String)] = [
            (
                "Authorization",
                "AWS4-HMAC-SHA256 Credential=AKIA/20261122/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0f"
            ),
            ("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg=="), ("Content-Type", "image/jpeg"), ("If-None-Match", "*"),
            ("Range", "bytes=0-9"), ("x-amz-content-sha256", "UNSIGNED-PAYLOAD"), ("x-amz-meta-Name", "a  b\tc"),
            ("x-amz-meta-utf8", "café"), ("X-Empty", ""),
        ]
        let request = try await sent(by: maker) { request in request.fields = fields }
        #expect(
            lowercasingNames(request.fields)
                == lowercasingNames(
                    fields.map { $0.value.isEmpty ? "\($0.name):" : "\($0.name): \($0.value)" }
                        + ["Accept-Encoding: identity"]
                        + (maker.isDecoding ? ["Accept: */*", "Connection: keep-alive"] : [])))
    }

    private func lowercasingNames(_ fields: [String]) -> [String] {
        fields.map { field in
            let name = field.prefix { $0 != ":" }
            return name.lowercased() + field.dropFirst(name.count)
        }
        .sorted()
    }

    @Test(arguments: TransportMaker.all) func `fields of one name go out joined as they are signed`(
        maker: TransportMaker
    ) async throws {
        let request = try await sent(by: maker) { $0.fields = [("X-A", "1"), ("x-b", "2"), ("x-a", "3")] }
        #expect(request["X-A"] == ["1,3"])
        #expect(request["X-B"] == ["2"])
    }

    @Test(arguments: TransportMaker.all) func `host and length are the transport's`(maker: TransportMaker) async throws
    {
        let request = try await sent(by: maker) {
            $0.fields = [("Host", "elsewhere.example"), ("content-length", "9")]
            $0.method = "PUT"
            $0.body = .bytes(Data("abc".utf8))
        }
        #expect(request["Host"] == [])
        #expect(request["Content-Length"] == ["3"])
        #expect(request.body == Data("abc".utf8))
    }

    @Test(arguments: TransportMaker.all, ["PUT", "POST", "DELETE", "PATCH"])
    func `a method without a body says that it has none`(maker: TransportMaker, method: String) async throws {
        let request = try await sent(by: maker) { $0.method = method }
        #expect(request.line == "\(method) / HTTP/1.1")
        #expect(request["Content-Length"] == ["0"])
        #expect(request["Transfer-Encoding"] == [])
        #expect(request["Expect"] == [])
    }

    @Test(arguments: TransportMaker.all, [0, 1, 65_535, 65_536, 65_537, 3_000_000])
    func `bytes go out whole, with their length`(maker: TransportMaker, count: Int) async throws {
        let body = pattern(count)
        let request = try await sent(by: maker) {
            $0.method = "POST"
            $0.body = .bytes(body)
            $0.fields = [("Content-Type", "application/json")]
        }
        #expect(request.body == body)
        #expect(request["Content-Length"] == ["\(count)"])
        #expect(request["Content-Type"] == ["application/json"])
        #expect(request["Transfer-Encoding"] == [])
        #expect(request["Expect"] == [])
    }

    @Test(
        arguments: TransportMaker.all,
        [0..<0, 0..<1, 5..<70_005, 0..<12_000_000, 1_000_000..<11_000_000, 11_999_999..<12_000_000])
    func `a range of a file goes out`(maker: TransportMaker, range: Range<Int64>) async throws {
        let whole = pattern(12_000_000)
        try await withFolder { folder in
            let file = folder.appendingPathComponent("body")
            try whole.write(to: file)
            let request = try await sent(by: maker) {
                $0.method = "PUT"
                $0.body = .file(file, range)
            }
            #expect(request.body == whole[Int(range.lowerBound)..<Int(range.upperBound)])
            #expect(request["Content-Length"] == ["\(range.count)"])
        }
    }

    @Test(
        arguments: TransportMaker.all,
        [
            HTTPRequest(method: "GET", url: URL(string: "ftp://127.0.0.1/")!),
            HTTPRequest(method: "GET", url: URL(string: "file:///etc/hostname")!),
            HTTPRequest(method: "GET", url: URL(string: "/relative")!),
            HTTPRequest(method: "GET", url: URL(string: "http:///")!),
            HTTPRequest(method: "GET", url: URL(string: "http://user:password@127.0.0.1/")!),
            HTTPRequest(method: "GET", url: URL(string: "http://127.0.0.1/a/../b")!),
            HTTPRequest(method: "GET", url: URL(string: "http://127.0.0.1/a/%2E%2e")!),
            HTTPRequest(method: "GET", url: URL(string: "http://127.0.0.1/./b?c")!),
            HTTPRequest(method: "G T", url: URL(string: "http://127.0.0.1/")!),
            HTTPRequest(method: "", url: URL(string: "http://127.0.0.1/")!),
            HTTPRequest(method: "GET", url: URL(string: "http://127.0.0.1/")!, body: .bytes(Data("a".utf8))),
            HTTPRequest(method: "GET", url: URL(string: "http://127.0.0.1/")!, fields: [("A B", "c")]),
            HTTPRequest(method: "GET", url: URL(string: "http://127.0.0.1/")!, fields: [("A:", "c")]),
            HTTPRequest(method: "GET", url: URL(string: "http://127.0.0.1/")!, fields: [("A", "b\r\nC: d")]),
            HTTPRequest(
                method: "GET", url: URL(string: "http://127.0.0.1/")!,
                destination: .file(URL(fileURLWithPath: "/dev/null"), offset: -1)),
        ])
    func `what cannot be said in HTTP is not sent`(maker: TransportMaker, request: HTTPRequest) async throws {
        let transport = maker.make()
        await #expect(throws: HTTPTransportError.invalidRequest) { try await transport.send(request) }
    }
}

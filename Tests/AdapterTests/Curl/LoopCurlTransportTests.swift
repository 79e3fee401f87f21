import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomCurl

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct LoopCurlTransportTests {
    @LoopActor private func get(
        _ server: HTTPServer, _ path: String = "/", timeout: Duration = .seconds(10)
    ) async throws(TransportError) -> UpstreamResponse {
        try await LoopCurlTransport().send(UpstreamRequest(method: "GET", url: server.url + path), timeout: timeout)
    }

    @Test @LoopActor func `gives status, fields and body as they came`() async throws {
        let server = try HTTPServer { _ in
            [.answer(503, "slow down", fields: [("X-A", " 1 "), ("x-b", "a: b"), ("Empty", ""), ("X-A", "2")])]
        }
        let response = try await get(server)
        #expect(
            response
                == UpstreamResponse(
                    status: 503,
                    fields: HeaderFields([
                        .init(name: "X-A", value: "1"), .init(name: "x-b", value: "a: b"),
                        .init(name: "Empty", value: ""), .init(name: "X-A", value: "2"),
                        .init(name: "Content-Length", value: "9"),
                    ]), body: Array("slow down".utf8)))
    }

    @Test @LoopActor func `sends the request as it is, and of its own only a length and a name`() async throws {
        let server = try HTTPServer { _ in [.answer(200)] }
        let fields: HeaderFields = ["host": "photos.example", "x-amz-date": "20261120T140000Z", "x-empty": ""]
        _ = try await LoopCurlTransport().send(
            UpstreamRequest(
                method: "PUT", url: server.url + "/a/../b//c%2e?x=1&y", fields: fields, body: [0, 1, 0xFF, 0x0A]),
            timeout: .seconds(10))
        let request = try #require(server.requests.first)
        #expect(request.method == "PUT" && request.target == "/a/../b//c%2e?x=1&y")
        #expect(request.body == [0, 1, 0xFF, 0x0A])
        #expect(
            request.fields.map { "\($0.name): \($0.value)" } == [
                "host: photos.example", "x-amz-date: 20261120T140000Z", "x-empty: ", "content-length: 4",
                "user-agent: cloakroom HTTP/1.1",
            ])
    }

    /// One handle for all of them: what one request sets must not be left for the next.
    @Test @LoopActor func `sends each request by itself, whatever came before on the handle`() async throws {
        let server = try HTTPServer { _ in [.answer(200)] }
        let host = String(server.url.dropFirst("http://".count))
        let transport = LoopCurlTransport()
        let requests: [(method: String, fields: HeaderFields, body: [UInt8])] = [
            ("GET", [:], []), ("PUT", ["host": "a"], []), ("POST", ["host": "a", "content-type": "b"], [1, 2]),
            ("GET", ["host": "a", "Accept": "b\t c"], []), ("PUT", [:], [3]), ("DELETE", ["host": "a"], []),
            ("POST", ["host": "a"], [4]), ("POST", ["host": "a"], []),
        ]
        for request in requests {
            let request = UpstreamRequest(
                method: request.method, url: server.url, fields: request.fields, body: request.body)
            _ = try await transport.send(request, timeout: .seconds(10))
        }
        let agent = "user-agent: cloakroom HTTP/1.1"
        #expect(server.connections == 1)
        #expect(server.requests.map(\.method) == requests.map(\.method))
        #expect(server.requests.map(\.body) == requests.map(\.body))
        #expect(
            server.requests.map { request in request.fields.map { "\($0.name): \($0.value)" } } == [
                [agent, "host: \(host)"], ["host: a", "content-length: 0", agent],
                ["host: a", "content-type: b", "content-length: 2", agent], ["host: a", "accept: b\t c", agent],
                ["content-length: 1", agent, "host: \(host)"], ["host: a", "content-length: 0", agent],
                ["host: a", "content-length: 1", agent], ["host: a", "content-length: 0", agent],
            ])
    }

    @Test(arguments: ["PUT", "POST", "DELETE"], HeadForm.allCases)
    @LoopActor func `sends a body of no bytes`(method: String, form: HeadForm) async throws {
        let server = try HTTPServer { _ in [.answer(200)] }
        let transport = LoopCurlTransport(options: .init(), form: form)
        _ = try await transport.send(UpstreamRequest(method: method, url: server.url), timeout: .seconds(10))
        #expect(server.requests.map(\.method) == [method])
        #expect(server.requests.first?["content-length"] == "0")
        #expect(server.requests.first?["expect"] == nil)
    }

    @Test @LoopActor func `sends a large body without asking first`() async throws {
        let server = try HTTPServer { _ in [.answer(200)] }
        let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        _ = try await LoopCurlTransport().send(
            UpstreamRequest(method: "PUT", url: server.url, body: body), timeout: .seconds(10))
        #expect(server.requests.first?.body == body)
        #expect(server.requests.first?["expect"] == nil)
    }

    @Test @LoopActor func `takes what HEAD, 204 and 304 leave out, on one connection`() async throws {
        let server = try HTTPServer { request in
            switch request.target {
            case "/head": [.text(HTTPServer.Step.head(200, [("Content-Length", "5"), ("ETag", "e")]))]
            case "/204": [.text(HTTPServer.Step.head(204, []))]
            case "/304": [.text(HTTPServer.Step.head(304, [("Content-Length", "5")]))]
            default: [.answer(200, "last")]
            }
        }
        let transport = LoopCurlTransport()
        var answers: [UpstreamResponse] = []
        for (method, path) in [("HEAD", "/head"), ("GET", "/204"), ("GET", "/304"), ("POST", "/"), ("GET", "/")] {
            let request = UpstreamRequest(method: method, url: server.url + path)
            answers.append(try await transport.send(request, timeout: .seconds(10)))
        }
        #expect(answers.map(\.status) == [200, 204, 304, 200, 200])
        #expect(answers.map { String(decoding: $0.body, as: UTF8.self) } == ["", "", "", "last", "last"])
        #expect(server.requests.map(\.method) == ["HEAD", "GET", "GET", "POST", "GET"])
        #expect(server.requests.map(\.connection) == [0, 0, 0, 0, 0])
        #expect(server.connections == 1)
    }

    /// An object can have so much metadata; what is not seen of it cannot be sent again.
    @Test @LoopActor func `gives all fields of an answer, or none`() async throws {
        let names = (0..<800).map { "x-amz-meta-\($0)" }
        let server = try HTTPServer { request in
            let value = request.target == "/" ? "v" : String(repeating: "v", count: 100)
            return [.answer(200, fields: names.map { ($0, value) })]
        }
        let response = try await get(server)
        #expect(names.allSatisfy { response.fields[$0] == "v" })
        await #expect(throws: TransportError.tooLarge) {
            try await LoopCurlTransport().send(
                UpstreamRequest(method: "GET", url: server.url + "/more", fields: [:]), timeout: .seconds(10))
        }
    }

    @Test @LoopActor func `reads chunks and skips what comes before the answer`() async throws {
        let server = try HTTPServer { _ in
            [
                .text("HTTP/1.1 100 Continue\r\nX-Not: this\r\n\r\n"),
                .chunked(200, ["ab", "c", String(repeating: "d", count: 300)]),
            ]
        }
        let response = try await get(server)
        #expect(response.fields["X-Not"] == nil)
        #expect(response.body == Array(("abc" + String(repeating: "d", count: 300)).utf8))
    }

    @Test @LoopActor func `takes no field after the body for one of the head's`() async throws {
        let server = try HTTPServer { _ in
            [
                .text(
                    HTTPServer.Step.head(200, [("Transfer-Encoding", "chunked")])
                        + "2\r\nok\r\n0\r\nX-Late: 1\r\nDate: never\r\n\r\n")
            ]
        }
        let response = try await get(server)
        #expect(response.fields.map(\.name) == ["Transfer-Encoding"])
        #expect(response.body == Array("ok".utf8))
    }

    @Test @LoopActor func `keeps one connection for requests one after the other`() async throws {
        let server = try HTTPServer { request in [.answer(200, request.target)] }
        let transport = LoopCurlTransport()
        for number in 0..<50 {
            let request = UpstreamRequest(method: "GET", url: server.url + "/\(number)")
            let response = try await transport.send(request, timeout: .seconds(10))
            #expect(response.body == Array("/\(number)".utf8))
        }
        #expect(server.connections == 1)
    }

    @Test @LoopActor func `has two hundred requests on the way at once`() async throws {
        let all = Latch(200)
        let server = try HTTPServer { request in
            all.open()
            return [.wait(all), .answer(200, request.target)]
        }
        let transport = LoopCurlTransport()
        let tasks = (0..<200).map { number in
            LoopActor.spawn {
                let request = UpstreamRequest(method: "GET", url: server.url + "/\(number)")
                return try? await transport.send(request, timeout: .seconds(20)).body
            }
        }
        for (number, task) in tasks.enumerated() { #expect(await task.value == Array("/\(number)".utf8)) }
        #expect(server.connections == 200)
    }

    @Test @LoopActor func `goes on after the server has closed a kept connection`() async throws {
        let server = try HTTPServer { request in [.answer(200, request.target), .end] }
        let transport = LoopCurlTransport()
        for number in 0..<10 {
            let request = UpstreamRequest(method: "PUT", url: server.url + "/\(number)", body: [1])
            #expect(try await transport.send(request, timeout: .seconds(10)).status == 200)
            // One that is closed while a body is on its way to it is an interruption, which the caller repeats.
            try await LoopActor.sleep(for: .milliseconds(50))
        }
        #expect(server.requests.map(\.target) == (0..<10).map { "/\($0)" })
    }

    @Test @LoopActor func `follows no redirect`() async throws {
        let server = try HTTPServer { _ in [.answer(307, fields: [("Location", "http://127.0.0.1:1/other")])] }
        let response = try await get(server)
        #expect(response.status == 307 && server.requests.count == 1)
    }

    @Test @LoopActor func `frees the handles of a peak, but none that a request waits on`() async throws {
        let latch = Latch()
        let server = try HTTPServer { $0.target == "/slow" ? [.wait(latch), .answer(200)] : [.answer(200)] }
        var options = LoopCurlTransport.Options()
        options.keptHandles = 2
        options.freeing = .milliseconds(5)
        let transport = LoopCurlTransport(options: options)
        let tasks = ["/slow", "/slow", "/slow", "/", "/", "/", "/", "/"].map { path in
            LoopActor.spawn {
                try? await transport.send(
                    UpstreamRequest(method: "GET", url: server.url + path), timeout: .seconds(30)
                ).status
            }
        }
        for task in tasks[3...] { #expect(await task.value == 200) }
        #expect(transport.handleCount == 8)
        while transport.handleCount > 3 + 2 { try await LoopActor.sleep(for: .milliseconds(1)) }
        latch.open()
        for task in tasks { #expect(await task.value == 200) }
        while transport.handleCount > 2 { try await LoopActor.sleep(for: .milliseconds(1)) }
        let response = try await transport.send(UpstreamRequest(method: "GET", url: server.url), timeout: .seconds(30))
        #expect(response.status == 200 && transport.handleCount == 2)
    }

    @Test @LoopActor func `keeps 8 handles unless it is told another number`() async throws {
        let server = try HTTPServer { _ in [.answer(200)] }
        var options = LoopCurlTransport.Options()
        options.freeing = .milliseconds(5)
        let transport = LoopCurlTransport(options: options)
        let request = UpstreamRequest(method: "GET", url: server.url)
        let tasks = (0..<20).map { _ in
            LoopActor.spawn { try? await transport.send(request, timeout: .seconds(30)).status }
        }
        for task in tasks { #expect(await task.value == 200) }
        let end = ContinuousClock.now + .seconds(10)
        while transport.handleCount > 8, .now < end { try await LoopActor.sleep(for: .milliseconds(1)) }
        #expect(transport.handleCount == 8)
    }

    /// libcurl goes through all connections of a group for each request.
    @Test @LoopActor func `has few requests in a group, and gives up groups that are not needed`() async throws {
        let latch = Latch(6)
        let server = try HTTPServer { request in
            guard request.target == "/slow" else { return [.answer(200)] }
            latch.open()
            return [.wait(latch), .answer(200)]
        }
        var options = LoopCurlTransport.Options()
        options.groupSize = 2
        options.freeing = .milliseconds(5)
        let transport = LoopCurlTransport(options: options)
        let send: @LoopActor @Sendable (String) async -> Int? = { path in
            let request = UpstreamRequest(method: "GET", url: server.url + path)
            return try? await transport.send(request, timeout: .seconds(30)).status
        }
        let tasks = (0..<5).map { _ in LoopActor.spawn { await send("/slow") } }
        while server.requests.count < 5 { try await LoopActor.sleep(for: .milliseconds(1)) }
        #expect(transport.groupCount == 3)
        latch.open()
        for task in tasks { #expect(await task.value == 200) }
        while transport.groupCount > 1 { try await LoopActor.sleep(for: .milliseconds(1)) }
        #expect(await send("/") == 200)
        #expect(server.connections == 5)
    }
}

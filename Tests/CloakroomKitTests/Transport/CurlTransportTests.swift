#if os(Linux)
    import CloakroomKit
    import CloakroomCurlTransport
    import Foundation
    import Testing

    /// What only the transport over libcurl does, in real time: its thread waits by the system's clock.
    @Suite(.serialized, .timeLimit(.minutes(1))) struct CurlTransportTests {
        @Test(arguments: [(300, 60_000), (60_000, 300)])
        func `silence ends with the shorter of both times`(timeout: Int, idleTimeout: Int) async throws {
            let server = try LoopbackServer { connection, _ in
                _ = connection.readRequest()
                connection.waitForEnd()
            }
            defer { server.stop() }
            let transport = CurlTransport()
            let began = ContinuousClock.now
            await #expect(throws: HTTPTransportError.timedOut) {
                try await transport.send(
                    .get(server.url, timeout: .milliseconds(timeout), idleTimeout: .milliseconds(idleTimeout)))
            }
            #expect(began.duration(to: .now) >= .milliseconds(300))
            #expect(await server.connectionsEnded(1))
        }

        @Test func `what moves is not idle, but the whole has its end`() async throws {
            let server = try LoopbackServer { connection, _ in
                _ = connection.readRequest()
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
                while connection.write(Data("a".utf8)) { usleep(10_000) }
            }
            defer { server.stop() }
            let transport = CurlTransport()
            let began = ContinuousClock.now
            await #expect(throws: HTTPTransportError.timedOut) {
                try await transport.send(
                    .get(
                        server.url, into: .memory(maximumBytes: .max), timeout: .seconds(2), idleTimeout: .seconds(1)))
            }
            #expect(began.duration(to: .now) >= .seconds(2))
        }

        // libcurl 7.88 forgot about one time in thirty whoever waited.
        @Test func `whoever waits for a connection gets one, each of two hundred times`() async throws {
            let server = try LoopbackServer(answering: ok("hello"))
            defer { server.stop() }
            for _ in 0..<200 {
                let transport = CurlTransport(maximumConnectionsPerHost: 3)
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<100 {
                        group.addTask { try await transport.send(.get(server.url, idleTimeout: .seconds(10))).status }
                    }
                    for try await status in group { #expect(status == 200) }
                }
            }
        }

        @Test func `waiting takes next to no CPU time`() async throws {
            let server = try LoopbackServer { connection, _ in
                guard connection.readRequest() != nil else { return }
                sleep(1)
                connection.write(ok("late"))
            }
            defer { server.stop() }
            let transport = CurlTransport()
            #expect(try await transport.send(.put(server.url, .bytes(Data(count: 100_000)))).status == 200)
            #expect(try await cpuTimeOfItsThread(transport, server.url) < .milliseconds(50))
        }

        /// Of the thread that tells progress, while the response is waited for.
        private func cpuTimeOfItsThread(_ transport: CurlTransport, _ url: String) async throws -> Duration {
            let times = Recorder<Duration>()
            _ = try await transport.send(.put(url, .bytes(Data(count: 1000)))) { _ in
                var time = timespec()
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
                times.append(.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
            }
            let (first, last) = (try #require(times.all.first), try #require(times.all.last))
            #expect(times.all.count > 1)
            return last - first
        }

        @Test func `two hundred transports leave neither threads nor descriptors behind`() async throws {
            let server = try LoopbackServer(answering: ok("hello"))
            defer { server.stop() }
            // libcurl keeps a few for the process.
            _ = try await CurlTransport().send(.get(server.url))
            #expect(await server.connectionsEnded(1))
            let before = (try count("/proc/self/fd"), try count("/proc/self/task"))
            for _ in 0..<200 { #expect(try await CurlTransport().send(.get(server.url)).status == 200) }
            #expect(await server.connectionsEnded(201))
            // Other tests run beside.
            #expect(try count("/proc/self/fd") - before.0 < 150)
            #expect(try count("/proc/self/task") - before.1 < 150)
        }

        private func count(_ folder: String) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: folder).count
        }

        @Test(arguments: [
            "HTTP/1.1 200 OK\r\nA: 1\r\nContent-Length: 2\r\nA: 2\r\n\r\nok",
            "HTTP/1.1 103 Early\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nA:1\r\nContent-Length:2\r\nA: \t2 \r\n\r\nok",
        ])
        func `fields come back as they came, in order`(bytes: String) async throws {
            let server = try LoopbackServer(answering: bytes)
            defer { server.stop() }
            let response = try await CurlTransport().send(.get(server.url))
            #expect(response.fields.map { "\($0.name): \($0.value)" } == ["A: 1", "Content-Length: 2", "A: 2"])
        }

        @Test func `what comes after a body in pieces is no field`() async throws {
            let server = try LoopbackServer(
                answering: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: late\r\n\r\n")
            defer { server.stop() }
            let response = try await CurlTransport().send(.get(server.url))
            #expect(response.fields.map(\.name) == ["Transfer-Encoding"])
            #expect(response.body == Data("ok".utf8))
        }
    }
#endif

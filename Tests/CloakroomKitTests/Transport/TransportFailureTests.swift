import Foundation
import Testing

@testable import CloakroomKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// How exchanges fail, and what is said of it.
@Suite(.timeLimit(.minutes(1))) struct TransportFailureTests {
    @Test(arguments: TransportMaker.all) func `nobody listening is unreachable`(maker: TransportMaker) async throws {
        let transport = maker.make()
        let server = try LoopbackServer(answering: ok())
        server.stop()
        await #expect(throws: HTTPTransportError.unreachable) { try await transport.send(.get(server.url)) }
    }

    @Test(arguments: TransportMaker.all) func `a name that leads nowhere is unreachable`(maker: TransportMaker)
        async throws
    {
        let transport = maker.make()
        await #expect(throws: HTTPTransportError.unreachable) {
            try await transport.send(.get("http://nobody.invalid/"))
        }
    }

    @Test(arguments: TransportMaker.all) func `speaking TLS to a plain server is a broken connection`(
        maker: TransportMaker
    ) async throws {
        let transport = maker.make()
        let server = try LoopbackServer { connection, _ in
            _ = connection.read(5)
            connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
        }
        defer { server.stop() }
        await #expect(throws: HTTPTransportError.interrupted) {
            try await transport.send(.get("https://127.0.0.1:\(server.port)/"))
        }
    }

    @Test(arguments: TransportMaker.all, [true, false])
    func `a reset is a broken connection`(maker: TransportMaker, afterHead: Bool) async throws {
        let transport = maker.make()
        let server = try LoopbackServer { connection, _ in
            guard connection.readRequest() != nil else { return }
            if afterHead { connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf") }
            connection.reset()
        }
        defer { server.stop() }
        await #expect(throws: HTTPTransportError.interrupted) { try await transport.send(.get(server.url)) }
    }

    @Test(arguments: TransportMaker.all) func `a server that goes amid the body breaks the connection`(
        maker: TransportMaker
    ) async throws {
        let transport = maker.make()
        let server = try LoopbackServer { connection, _ in
            _ = connection.readHead()
            _ = connection.read(100_000)
            connection.reset()
        }
        defer { server.stop() }
        await #expect(throws: HTTPTransportError.interrupted) {
            try await transport.send(.put(server.url, .bytes(pattern(20_000_000))))
        }
    }

    @Test(arguments: TransportMaker.all) func `an early refusal of a long body is a response`(maker: TransportMaker)
        async throws
    {
        let transport = maker.make()
        let server = try LoopbackServer { connection, _ in
            _ = connection.readHead()
            connection.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
            connection.waitForEnd()
        }
        defer { server.stop() }
        let response = try await transport.send(.put(server.url, .bytes(pattern(20_000_000))))
        #expect(response.status == 403)
        #expect(response.body == Data("no".utf8))
    }

    @Test(arguments: TransportMaker.all) func `a file that is missing or too short is not sent`(maker: TransportMaker)
        async throws
    {
        let transport = maker.make()
        let server = try LoopbackServer(answering: ok())
        defer { server.stop() }
        try await withFolder { folder in
            let file = folder.appendingPathComponent("body")
            try Data("12345".utf8).write(to: file)
            for body in [
                HTTPBody.file(file, 0..<6), .file(folder, 0..<1), .file(folder.appendingPathComponent("none"), 0..<1),
                .file(try #require(URL(string: "http://127.0.0.1/")), 0..<1),
            ] {
                await #expect(throws: HTTPTransportError.unreadableFile) {
                    try await transport.send(.put(server.url, body))
                }
            }
        }
        #expect(server.connectionCount == 0)
    }

    @Test(arguments: TransportMaker.all) func `a file that shrinks while it goes out is unreadable`(
        maker: TransportMaker
    ) async throws {
        let transport = maker.make()
        try await withFolder { folder in
            let file = folder.appendingPathComponent("body")
            try pattern(40_000_000).write(to: file)
            let server = try LoopbackServer { connection, _ in
                _ = connection.readHead()
                truncate(file.path, 1000)
                connection.waitForEnd()
            }
            defer { server.stop() }
            await #expect(throws: HTTPTransportError.unreadableFile) {
                try await transport.send(.put(server.url, .file(file, 1..<40_000_000)))
            }
        }
    }

    @Test(arguments: [
        (URLError.Code.cancelled, HTTPTransportError.cancelled), (.userCancelledAuthentication, .cancelled),
        (.timedOut, .timedOut), (.notConnectedToInternet, .unreachable), (.cannotFindHost, .unreachable),
        (.cannotConnectToHost, .unreachable), (.dnsLookupFailed, .unreachable), (.resourceUnavailable, .unreachable),
        (.dataNotAllowed, .notAllowedNow), (.internationalRoamingOff, .notAllowedNow), (.callIsActive, .notAllowedNow),
        (.serverCertificateHasBadDate, .untrusted), (.serverCertificateUntrusted, .untrusted),
        (.serverCertificateHasUnknownRoot, .untrusted), (.serverCertificateNotYetValid, .untrusted),
        (.clientCertificateRejected, .untrusted), (.clientCertificateRequired, .untrusted),
        (.secureConnectionFailed, .interrupted), (.badURL, .invalidRequest), (.unsupportedURL, .interrupted),
        (.networkConnectionLost, .interrupted), (.badServerResponse, .interrupted),
        (.cannotParseResponse, .interrupted),
        (.zeroByteResource, .interrupted), (.cannotDecodeRawData, .encoded), (.cannotDecodeContentData, .encoded),
        (.dataLengthExceedsMaximum, .tooLarge), (.fileDoesNotExist, .unreadableFile),
        (.fileIsDirectory, .unreadableFile), (.noPermissionsToReadFile, .unreadableFile), (.unknown, .interrupted),
        (.httpTooManyRedirects, .interrupted), (.cannotWriteToFile, .interrupted),
    ])
    func `every error of URLSession means one of ours`(code: URLError.Code, error: HTTPTransportError) {
        #expect(HTTPTransportError(URLError(code)) == error)
    }

    @Test func `an error that is none of URLSession's is a broken connection`() {
        #expect(HTTPTransportError(CancellationError()) == .interrupted)
    }

    @Test(arguments: [
        ("SSL certificate problem: self-signed certificate", HTTPTransportError.untrusted),
        ("SSL certificate problem: certificate has expired", .untrusted),
        ("SSL: no alternative certificate subject name matches target host name 'a.example'", .untrusted),
        ("SSL: certificate subject name 'a' does not match target host name 'b'", .untrusted),
        ("SSL peer certificate or SSH remote key was not OK", .untrusted),
        ("Failed to connect to a.example port 443 after 3 ms: Couldn't connect to server", .unreachable),
        ("Could not resolve host: a.example", .unreachable),
        ("OpenSSL SSL_read: SSL_ERROR_SYSCALL, errno 104", .interrupted),
        ("transfer closed with 18 bytes remaining to read", .interrupted), ("", .interrupted),
        ("Unrecognized content encoding type. libcurl understands deflate, gzip content encodings.", .encoded),
        ("Error while processing content unencoding: incorrect header check", .encoded),
    ])
    func `libcurl's words mean something, too`(message: String, error: HTTPTransportError) {
        #expect(HTTPTransportError(curlMessage: message) == error)
    }
}

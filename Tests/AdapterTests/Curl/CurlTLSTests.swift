import CloakroomCurl
import Foundation
import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

/// With the openssl command as the other side.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct CurlTLSTests {
    @LoopActor private func outcome(_ server: TLSServer, trusting file: String?) async -> Result<Int, TransportError> {
        var options = LoopCurlTransport.Options()
        options.certificateAuthorities = file
        let request = UpstreamRequest(method: "GET", url: server.url)
        do throws(TransportError) {
            return .success(try await LoopCurlTransport(options: options).send(request, timeout: .seconds(10)).status)
        } catch {
            return .failure(error)
        }
    }

    @Test @LoopActor func `takes a certificate that it is told to trust, and no other`() async throws {
        let server = try await onThread { try TLSServer(name: "IP:127.0.0.1") }
        let other = try await onThread { try TLSServer(name: "IP:127.0.0.1") }
        #expect(await outcome(server, trusting: server.certificate) == .success(200))
        #expect(await outcome(server, trusting: nil) == .failure(.untrusted))
        #expect(await outcome(server, trusting: other.certificate) == .failure(.untrusted))
        #expect(await outcome(server, trusting: "/nowhere.pem") == .failure(.untrusted))
    }

    @Test @LoopActor func `takes no certificate for another name`() async throws {
        let server = try await onThread { try TLSServer(name: "DNS:sts.amazonaws.com,IP:127.0.0.2") }
        #expect(await outcome(server, trusting: server.certificate) == .failure(.untrusted))
    }

    @Test @LoopActor func `takes no certificate that has expired`() async throws {
        let server = try await onThread { try TLSServer(name: "IP:127.0.0.1", days: -1) }
        #expect(await outcome(server, trusting: server.certificate) == .failure(.untrusted))
    }

    /// `openssl s_server -www` says of each session whether it is new. A ticket of TLS 1.3 is used once (RFC 8446, appendix C.4),
    /// so of connections at once only one is sure to resume it.
    @Test @LoopActor func `a connection of another handle resumes the session of the first`() async throws {
        let server = try await onThread { try TLSServer(name: "IP:127.0.0.1") }
        var options = LoopCurlTransport.Options()
        options.certificateAuthorities = server.certificate
        let transport = LoopCurlTransport(options: options)
        let request = UpstreamRequest(method: "GET", url: server.url)
        let first = try await transport.send(request, timeout: .seconds(10))
        #expect(String(decoding: first.body, as: UTF8.self).contains("New, TLSv1"))
        // Meanwhile this has the first handle.
        let silent = try SocketServer { peer, _ in _ = try? peer.readToEnd() }
        defer { silent.stop() }
        let waiting = LoopActor.spawn {
            try? await transport.send(
                UpstreamRequest(method: "GET", url: "http://127.0.0.1:\(silent.port)/"), timeout: .seconds(10))
        }
        while silent.accepted == 0 { try await LoopActor.sleep(for: .milliseconds(1)) }
        let second = try await transport.send(request, timeout: .seconds(10))
        #expect(String(decoding: second.body, as: UTF8.self).contains("Reused, TLSv1"))
        silent.stop()
        #expect(await waiting.value == nil)
    }

    @Test @LoopActor func `tells when a certificate ends, if it is to`() async throws {
        let server = try await onThread { try TLSServer(name: "IP:127.0.0.1", days: 40) }
        var options = LoopCurlTransport.Options()
        options.certificateAuthorities = server.certificate
        options.readsCertificates = true
        let transport = LoopCurlTransport(options: options)
        _ = try await transport.send(UpstreamRequest(method: "GET", url: server.url), timeout: .seconds(10))
        let end = try #require(transport.certificateEnd)
        #expect(end.wholeMatch(of: /[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [0-9]{4} GMT/) != nil, "\(end)")
    }

    @Test @LoopActor func `speaks no TLS older than 1.2`() async throws {
        let server = try await onThread {
            try TLSServer(name: "IP:127.0.0.1", options: ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"])
        }
        #expect(await outcome(server, trusting: server.certificate) == .failure(.interrupted))
    }

    @Test @LoopActor func `takes no plain answer for an encrypted one`() async throws {
        let plain = try SocketServer { peer, _ in
            _ = try? peer.read()
            try? peer.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))
        }
        defer { plain.stop() }
        let request = UpstreamRequest(method: "GET", url: "https://127.0.0.1:\(plain.port)/")
        await #expect(throws: TransportError.interrupted) {
            _ = try await LoopCurlTransport().send(request, timeout: .seconds(10))
        }
    }

    /// Not as a certificate that is not trusted: another attempt may well succeed.
    @Test(arguments: [HTTPServer.Step.reset, .end])
    @LoopActor func `calls a connection interrupted that ends in the handshake`(end: HTTPServer.Step) async throws {
        let server = try SocketServer { peer, _ in
            _ = try? peer.read()
            if case .reset = end { peer.reset() }
        }
        defer { server.stop() }
        let request = UpstreamRequest(method: "GET", url: "https://127.0.0.1:\(server.port)/")
        await #expect(throws: TransportError.interrupted) {
            _ = try await LoopCurlTransport().send(request, timeout: .seconds(10))
        }
    }
}

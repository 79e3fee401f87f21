import Curl
import Foundation
import HTTPValues
import Loop
import Support
import Testing

/// With the openssl command as the other side.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct CurlTLSTests {
    private struct Server: Sendable {
        let program: Program
        let folder: TemporaryFolder
        var certificate: String { folder["certificate.pem"] }

        /// - Parameters:
        ///   - name: the one the certificate is for, such as `IP:127.0.0.1`.
        ///   - days: how long it is valid from now on; it has ended already with a negative number.
        init(name: String, days: Int = 1, options: [String] = []) throws {
            folder = try TemporaryFolder()
            let (key, certificate, request) = (folder["key.pem"], folder["certificate.pem"], folder["request.pem"])
            try Program.run(
                "openssl",
                [
                    "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-subj", "/CN=test", "-addext", "subjectAltName=\(name)", "-keyout", key, "-out", request,
                ])
            try Program.run(
                "openssl",
                [
                    "x509", "-req", "-in", request, "-signkey", key, "-days", "\(days)", "-copy_extensions", "copy",
                    "-out", certificate,
                ])
            program = try Program(
                "openssl",
                arguments: ["s_server", "-accept", "127.0.0.1:0", "-www", "-key", key, "-cert", certificate] + options,
                until: "ACCEPT 127.0.0.1:")
        }

        var url: String {
            let line = program.announced.components(separatedBy: "ACCEPT 127.0.0.1:").last ?? ""
            return "https://127.0.0.1:\(line.prefix { $0.isNumber })/"
        }
    }

    @LoopActor private func outcome(_ server: Server, trusting file: String?) async -> Result<Int, TransportError> {
        var options = CurlTransport.Options()
        options.certificateAuthorities = file
        let request = UpstreamRequest(method: "GET", url: server.url)
        do throws(TransportError) {
            return .success(try await CurlTransport(options: options).send(request, timeout: .seconds(10)).status)
        } catch {
            return .failure(error)
        }
    }

    @Test @LoopActor func `takes a certificate that it is told to trust, and no other`() async throws {
        let server = try await onThread { try Server(name: "IP:127.0.0.1") }
        let other = try await onThread { try Server(name: "IP:127.0.0.1") }
        #expect(await outcome(server, trusting: server.certificate) == .success(200))
        #expect(await outcome(server, trusting: nil) == .failure(.untrusted))
        #expect(await outcome(server, trusting: other.certificate) == .failure(.untrusted))
        #expect(await outcome(server, trusting: "/nowhere.pem") == .failure(.untrusted))
    }

    @Test @LoopActor func `takes no certificate for another name`() async throws {
        let server = try await onThread { try Server(name: "DNS:sts.amazonaws.com,IP:127.0.0.2") }
        #expect(await outcome(server, trusting: server.certificate) == .failure(.untrusted))
    }

    @Test @LoopActor func `takes no certificate that has expired`() async throws {
        let server = try await onThread { try Server(name: "IP:127.0.0.1", days: -1) }
        #expect(await outcome(server, trusting: server.certificate) == .failure(.untrusted))
    }

    @Test @LoopActor func `tells when a certificate ends, if it is to`() async throws {
        let server = try await onThread { try Server(name: "IP:127.0.0.1", days: 40) }
        var options = CurlTransport.Options()
        options.certificateAuthorities = server.certificate
        options.readsCertificates = true
        let transport = CurlTransport(options: options)
        _ = try await transport.send(UpstreamRequest(method: "GET", url: server.url), timeout: .seconds(10))
        let end = try #require(transport.certificateEnd)
        #expect(end.wholeMatch(of: /[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [0-9]{4} GMT/) != nil, "\(end)")
    }

    @Test @LoopActor func `speaks no TLS older than 1.2`() async throws {
        let server = try await onThread {
            try Server(name: "IP:127.0.0.1", options: ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"])
        }
        #expect(await outcome(server, trusting: server.certificate) == .failure(.untrusted))
    }

    @Test @LoopActor func `takes no plain answer for an encrypted one`() async throws {
        let plain = try SocketServer { peer, _ in
            _ = try? peer.read()
            try? peer.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))
        }
        defer { plain.stop() }
        let request = UpstreamRequest(method: "GET", url: "https://127.0.0.1:\(plain.port)/")
        await #expect(throws: TransportError.untrusted) {
            _ = try await CurlTransport().send(request, timeout: .seconds(10))
        }
    }
}

import Foundation
import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Testing

/// With redis-server's own TLS as the other side.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct RedisTLSTests {
    private struct Server: Sendable {
        let redis: RedisServer
        let folder: TemporaryFolder
        let port: UInt16

        var certificate: String { folder["certificate.pem"] }

        /// - Parameters:
        ///   - name: the one the certificate is for, such as `IP:127.0.0.1`.
        ///   - authClients: whether clients need a certificate, as by Redis' default.
        init(name: String, authClients: Bool = false) throws {
            folder = try TemporaryFolder()
            let tls = try TestCertificate(for: name, in: folder)
            var started: (RedisServer, UInt16)?
            for _ in 0..<20 where started == nil {
                // redis-server takes no port 0 for "any": whoever has the one tried makes it end, and the next is tried.
                let port = UInt16.random(in: 20_000..<32_000)
                let options = [
                    "--tls-port", "\(port)", "--bind", "127.0.0.1", "--tls-cert-file", tls.certificate,
                    "--tls-key-file", tls.key, "--tls-ca-cert-file", tls.certificate, "--tls-auth-clients",
                    authClients ? "yes" : "no",
                ]
                started = (try? RedisServer(path: folder["r.sock"], options: options)).map { ($0, port) }
            }
            (redis, port) = try #require(started, "redis-server with TLS did not start")
        }
    }

    /// Whether a connection comes up, and what one large value comes back as.
    @LoopActor private func comesUp(_ server: Server, host: String = "127.0.0.1", trusting file: String?) async throws
        -> Bool
    {
        try await withRedis("") {
            $0.address = .internet(host: host, port: server.port)
            $0.tls = RedisTLS(certificateAuthorities: file)
        } _: { redis in
            guard await redis.becomesReady(within: .seconds(file == nil ? 1 : 5)) else { return false }
            let large = String(repeating: "x", count: 1_000_000)
            #expect(await redis.outcome("SET", "k", large) == .success(.status("OK")))
            #expect(await redis.outcome("GET", "k") == .success(.text(Array(large.utf8))))
            return true
        }
    }

    @Test @LoopActor func `trusts the certificate it is told to, for its own name`() async throws {
        let server = try await onThread { try Server(name: "IP:127.0.0.1,DNS:localhost") }
        #expect(try await comesUp(server, trusting: server.certificate))
        #expect(try await comesUp(server, host: "localhost", trusting: server.certificate))
        #expect(try await !comesUp(server, trusting: nil))
    }

    @Test @LoopActor func `takes no certificate for another name`() async throws {
        let server = try await onThread { try Server(name: "DNS:redis.example,IP:127.0.0.2") }
        try await withRedis("") {
            $0.address = .internet(host: "127.0.0.1", port: server.port)
            $0.tls = RedisTLS(certificateAuthorities: server.certificate)
        } _: { redis in
            #expect(await !redis.becomesReady(within: .seconds(1)))
        }
    }

    /// What failed in TLS with a server, by what a request is told; `nil` for anything else.
    @LoopActor private func failure(
        _ address: RedisAddress, trusting file: String?, timeout: Duration = .seconds(5)
    ) async throws -> RedisTLSFailure? {
        try await withRedis("", timeout: timeout) {
            $0.address = address
            $0.tls = RedisTLS(certificateAuthorities: file)
        } _: { redis in
            // A server that closes the connection with a reset may take its own words with it.
            for _ in 0..<200 {
                guard case .failure(.tls(let failure)) = await redis.outcome("PING") else {
                    try await LoopActor.sleep(for: .milliseconds(20))
                    continue
                }
                #expect(redis.refusal == .tls(failure) && !redis.isReady)
                return failure
            }
            return nil
        }
    }

    @Test @LoopActor func `says that Redis wants a certificate, as it does by default`() async throws {
        let server = try await onThread { try Server(name: "IP:127.0.0.1", authClients: true) }
        let found = try await failure(
            .internet(host: "127.0.0.1", port: server.port), trusting: server.certificate)
        #expect(found == RedisTLSFailure(.certificateRequired, "tlsv13 alert certificate required"))
        #expect(RedisError.tls(try #require(found)).label == "TLS: tlsv13 alert certificate required")
        withExtendedLifetime(server) {}
    }

    @Test @LoopActor func `says why it does not take the server's certificate`() async throws {
        let server = try await onThread { try Server(name: "DNS:redis.example,IP:127.0.0.2") }
        let address = RedisAddress.internet(host: "127.0.0.1", port: server.port)
        let otherName = try await failure(address, trusting: server.certificate)
        #expect(otherName == RedisTLSFailure(.otherName, "IP address mismatch"))
        let unknown = try await failure(address, trusting: nil)
        #expect(unknown?.cause == .untrusted && unknown?.text.contains("certificate") == true)
        withExtendedLifetime(server) {}
    }

    @Test @LoopActor func `says that there is no TLS at the other end`() async throws {
        let folder = try TemporaryFolder()
        let plain = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let certificate = try await onThread { try TestCertificate(for: "DNS:localhost", in: folder).certificate }
        // Redis waits for the rest of what it takes for a command; Valkey says that it is none.
        let real = try await failure(.unix(path: plain.path), trusting: certificate, timeout: .milliseconds(100))
        #expect(real?.cause == .silence || real?.cause == .noTLS, "\(String(describing: real))")
        let mute = try SocketServer(unixPath: folder["m.sock"]) { peer, _ in _ = peer.waitForHangup() }
        let silent = try await failure(
            .unix(path: folder["m.sock"]), trusting: certificate, timeout: .milliseconds(100))
        #expect(silent == RedisTLSFailure(.silence, "no handshake in time"))
        mute.stop()
        let talkative = try SocketServer(unixPath: folder["t.sock"]) { peer, _ in
            _ = try? peer.read()
            try? peer.write(Array("-ERR unknown command\r\n".utf8))
            _ = peer.waitForHangup()
        }
        let found = try await failure(.unix(path: folder["t.sock"]), trusting: certificate)
        #expect(found?.cause == .noTLS, "\(String(describing: found))")
        talkative.stop()
        withExtendedLifetime(plain) {}
    }

    @Test @LoopActor func `a server that is gone is unavailable, and no failure of TLS`() async throws {
        let server = try await onThread { try Server(name: "IP:127.0.0.1") }
        try await onThread { server.redis.kill() }
        try await withRedis("") {
            $0.address = .internet(host: "127.0.0.1", port: server.port)
            $0.tls = RedisTLS(certificateAuthorities: server.certificate)
        } _: { redis in
            #expect(await redis.outcome("PING") == .failure(.unavailable))
            #expect(redis.refusal == nil)
        }
    }

    @Test @LoopActor func `has nothing to trust in a file without certificates`() throws {
        let folder = try TemporaryFolder()
        #expect(RedisTLS(certificateAuthorities: folder["none.pem"]) == nil)
    }
}

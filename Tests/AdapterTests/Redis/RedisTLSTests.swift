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

        /// - Parameter name: the one the certificate is for, such as `IP:127.0.0.1`.
        init(name: String) throws {
            folder = try TemporaryFolder()
            let tls = try TestCertificate(for: name, in: folder)
            var started: (RedisServer, UInt16)?
            for _ in 0..<20 where started == nil {
                // redis-server takes no port 0 for "any": whoever has the one tried makes it end, and the next is tried.
                let port = UInt16.random(in: 20_000..<32_000)
                let options = [
                    "--tls-port", "\(port)", "--bind", "127.0.0.1", "--tls-cert-file", tls.certificate,
                    "--tls-key-file", tls.key, "--tls-auth-clients", "no",
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

    @Test @LoopActor func `has nothing to trust in a file without certificates`() throws {
        let folder = try TemporaryFolder()
        #expect(RedisTLS(certificateAuthorities: folder["none.pem"]) == nil)
    }
}

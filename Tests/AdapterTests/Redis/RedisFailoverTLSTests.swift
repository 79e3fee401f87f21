import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Testing

/// Three sentinels, a master and two replicas, all with TLS and a certificate for `localhost` alone.
@Suite(.onLoop, .serialized, .timeLimit(.minutes(3)))
struct RedisFailoverTLSTests {
    /// - Parameter announced: what the replicas say is their name.
    @Test(arguments: ["localhost", "127.0.0.1"])
    @LoopActor func `follows a failover to the name that the certificate is for, and to no other`(announced: String)
        async throws
    {
        let folder = try TemporaryFolder()
        let (certificate, cluster) = try await onThread {
            let tls = try TestCertificate(for: "DNS:localhost", in: folder)
            return (tls.certificate, try RedisSentinelServers(host: "localhost", replicaHost: announced, tls: tls))
        }
        let tls = RedisTLS(certificateAuthorities: certificate)
        try await withFailoverClient(cluster.sentinels, host: "localhost") {
            $0.sentinels.tls = tls
            $0.server.tls = tls
        } _: { client in
            #expect(await becomes { client.masterPort == cluster.servers[0] })
            #expect(await becomes { client.replicas.count == 2 })
            let load = FailoverLoad(client)
            #expect(await becomes { load.total > 200 })
            try await onThread { cluster.kill(cluster.servers[0]) }
            load.mark()
            var named: UInt16?
            #expect(
                await becomes {
                    named = await master(by: cluster.sentinels, tls)
                    return named.map { $0 != cluster.servers[0] } ?? false
                })
            let promoted = try #require(named)
            if announced == "localhost" {
                #expect(await becomes { load.firstAfterMark != nil })
                #expect(client.master == .internet(host: "localhost", port: promoted))
                await load.stop()
            } else {
                // Several rounds of the sentinels' votes.
                try await LoopActor.sleep(for: .seconds(2))
                #expect(!client.isReady && client.masterPort != promoted)
                #expect(load.firstAfterMark == nil)
                await load.stop()
            }
        }
    }

    /// The port that all sentinels name; `nil` while they differ.
    @LoopActor private func master(by sentinels: [UInt16], _ tls: RedisTLS?) async -> UInt16? {
        var named: Set<UInt16?> = []
        for port in sentinels {
            let reply = try? await withRedis("", timeout: .seconds(1)) {
                $0.address = .internet(host: "localhost", port: port)
                $0.tls = tls
            } _: { sentinel in
                try await sentinel.send(
                    RedisCommand(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", RedisSentinelServers.master]))
            }
            guard case .array(let parts)? = reply, case .text(let text)? = parts.last else { return nil }
            named.insert(UInt16(String(decoding: text, as: UTF8.self)))
        }
        return named.count == 1 ? named.first ?? nil : nil
    }
}

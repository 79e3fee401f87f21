import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Testing

/// The network between a worker and the master alone is cut: sentinels and master see each other all the time.
@Suite(.onLoop, .serialized, .timeLimit(.minutes(2)))
struct RedisNetworkCutTests {
    private struct Proxied: Sendable {
        let proxy: TCPProxy
        let servers: RedisSentinelServers

        init() throws {
            var made: TCPProxy?
            servers = try RedisSentinelServers(replicas: 0, sentinels: 2) { port in
                let proxy = try TCPProxy(to: port, exempting: RedisSentinelServers.sentinelSource)
                made = proxy
                return proxy.port
            }
            proxy = try #require(made)
        }
    }

    @Test @LoopActor
    func `requests fail in time during a cut, go on soon after it, and never go to the master of a minority`()
        async throws
    {
        let proxied = try await onThread { try Proxied() }
        let (proxy, servers) = (proxied.proxy, proxied.servers)
        // Its master takes writes, and is another.
        let stale = try await onThread { try RedisSentinelServers(replicas: 0, sentinels: 1) }
        try await withFailoverClient(stale.sentinels + servers.sentinels) { client in
            #expect(await becomes { client.isReady })
            #expect(client.masterPort == proxy.port)
            #expect(await client.outcome("INCR", "n") == .success(.integer(1)))

            proxy.cut()
            let cut = ContinuousClock.now
            var longest = Duration.zero
            // Longer than the sentinels need to take a server for down.
            while ContinuousClock.now - cut < .seconds(3) {
                let sent = ContinuousClock.now
                guard case .failure = await client.outcome("INCR", "n") else { return _ = Issue.record("a reply") }
                longest = max(longest, .now - sent)
                #expect(client.masterPort != stale.servers[0])
                try await LoopActor.sleep(for: .milliseconds(5))
            }
            // The timeout is 200 ms, and is checked four times in that time.
            #expect(longest < .milliseconds(600))
            for sentinel in servers.sentinels { #expect(await flags(by: sentinel) == "master") }

            proxy.restore()
            let restored = ContinuousClock.now
            #expect(await becomes { if case .success = await client.outcome("INCR", "n") { true } else { false } })
            let gap = ContinuousClock.now - restored
            #expect(gap < .seconds(2))
            #expect(client.masterPort == proxy.port)
            #expect(await direct(stale.servers[0], "DBSIZE") == .integer(0))
            print("network cut: a request failed after \(longest) at most; served \(gap) after the end")
        }
    }

    /// What a sentinel thinks of the master: `master` while it sees it.
    @LoopActor private func flags(by sentinel: UInt16) async -> String? {
        guard case .array(let parts)? = await direct(sentinel, "SENTINEL", "MASTER", RedisSentinelServers.master)
        else { return nil }
        let texts = parts.map { if case .text(let text) = $0 { String(decoding: text, as: UTF8.self) } else { "" } }
        return texts.firstIndex(of: "flags").map { texts[$0 + 1] }
    }
}

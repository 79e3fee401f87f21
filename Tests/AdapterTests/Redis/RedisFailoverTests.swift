import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Testing

/// Three sentinels, a master and two replicas: each a real process.
@Suite(.onLoop, .serialized, .timeLimit(.minutes(3)))
struct RedisFailoverTests {
    @Test @LoopActor
    func `finds the new master when the old one is killed, and does not go back when that is there again`()
        async throws
    {
        let cluster = try await onThread { try RedisSentinelServers() }
        try await withFailoverClient(cluster.sentinels) { client in
            #expect(await becomes { client.masterPort == cluster.servers[0] })
            #expect(await becomes { client.replicas.count == 2 })
            // One that ROLE names may not follow yet: what is written until then is on the master alone.
            #expect(await becomes { await replicasReached(by: client) == 2 })
            let load = FailoverLoad(client)
            #expect(await becomes { load.total > 200 })
            try await onThread { cluster.kill(cluster.servers[0]) }
            load.mark()
            let servers = LoopActor.spawn { await gapOfServers(cluster) }
            #expect(await becomes { load.firstAfterMark != nil })
            let gap = try #require(load.firstAfterMark)
            report("kill -9", client: gap, servers: await servers.value)
            let master = try #require(client.masterPort)
            #expect(cluster.servers.dropFirst().contains(master))

            try await onThread { try cluster.startServer(cluster.servers[0]) }
            // It takes itself for a master until a sentinel tells it otherwise.
            #expect(await becomes { await role(of: cluster.servers[0]) == "slave" })
            let total = load.total
            #expect(await becomes { load.total > total + 100 })
            #expect(client.masterPort != cluster.servers[0])
            await load.stop()
            let lost = await load.lost()
            #expect(Double(lost) <= 0.01 * Double(load.total))
            print("failover by kill -9: \(lost) of \(load.total) acknowledged counts lost")
        }
    }

    @Test @LoopActor func `a master that stops and goes on takes no counts that are lost`() async throws {
        let cluster = try await onThread {
            try RedisSentinelServers(options: ["--min-replicas-to-write", "1", "--min-replicas-max-lag", "1"])
        }
        try await withFailoverClient(cluster.sentinels) { client in
            #expect(await becomes { client.masterPort == cluster.servers[0] })
            #expect(await becomes { client.replicas.count == 2 })
            // One that ROLE names may not follow yet: what is written until then is on the master alone.
            #expect(await becomes { await replicasReached(by: client) == 2 })
            let load = FailoverLoad(client)
            #expect(await becomes { load.total > 200 })
            cluster.pause(cluster.servers[0])
            load.mark()
            let servers = LoopActor.spawn { await gapOfServers(cluster) }
            #expect(await becomes { load.firstAfterMark != nil })
            report("SIGSTOP", client: try #require(load.firstAfterMark), servers: await servers.value)
            let master = try #require(client.masterPort)
            #expect(master != cluster.servers[0])

            cluster.resume(cluster.servers[0])
            // Who comes now finds the new one, although the old one still says that it is a master.
            try await withFailoverClient(cluster.sentinels) { other in
                #expect(await becomes { other.isReady })
                #expect(other.masterPort != cluster.servers[0])
            }
            #expect(await becomes { await role(of: cluster.servers[0]) == "slave" })
            #expect(client.masterPort != cluster.servers[0])
            await load.stop()
            let lost = await load.lost()
            #expect(Double(lost) <= 0.01 * Double(load.total))
            print("failover by SIGSTOP: \(lost) of \(load.total) acknowledged counts lost")
        }
    }

    @Test @LoopActor func `follows a failover by hand while both servers are up`() async throws {
        let cluster = try await onThread { try RedisSentinelServers() }
        try await withFailoverClient(cluster.sentinels) { client in
            #expect(await becomes { client.masterPort == cluster.servers[0] })
            #expect(await becomes { client.replicas.count == 2 })
            // One that ROLE names may not follow yet: what is written until then is on the master alone.
            #expect(await becomes { await replicasReached(by: client) == 2 })
            let load = FailoverLoad(client)
            #expect(await becomes { load.total > 200 })
            #expect(await becomes { await direct(cluster.sentinels[0], "SENTINEL", "FAILOVER", "main") != nil })
            #expect(await becomes { client.masterPort != cluster.servers[0] })
            let total = load.total
            #expect(await becomes { load.total > total + 100 })
            #expect(await becomes { await role(of: cluster.servers[0]) == "slave" })
            await load.stop()
            // What the old master acknowledged between the promotion and its event is lost.
            let lost = await load.lost()
            #expect(Double(lost) <= 0.01 * Double(load.total))
            print("failover by hand: \(lost) of \(load.total) acknowledged counts lost")
        }
    }

    /// Redis does not replicate its users.
    @Test @LoopActor func `says that the new master refuses our user, and goes there as soon as it takes it`()
        async throws
    {
        let cluster = try await onThread { try RedisSentinelServers(replicas: 1) }
        let user = ["ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all"]
        _ = await direct(cluster.servers[0], user)
        try await withFailoverClient(cluster.sentinels) {
            $0.server.username = "app"
            $0.server.password = "secret"
        } _: { client in
            #expect(await becomes { client.masterPort == cluster.servers[0] })
            let replica = RedisAddress.internet(host: "127.0.0.1", port: cluster.servers[1])
            let script = RedisScript(source: "return 1", digest: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db")
            let call = script.call(keys: [], arguments: [])
            var found: [(replica: RedisAddress, error: RedisError)] = []
            #expect(
                await becomes {
                    found = await client.replicaRefusals(of: call)
                    return !found.isEmpty
                })
            #expect(found.map(\.replica) == [replica] && found.map(\.error) == [.refused(code: "WRONGPASS")])
            #expect(client.refusal == nil)
            #expect(await becomes { await direct(cluster.sentinels[0], "SENTINEL", "FAILOVER", "main") != nil })
            #expect(
                await becomes {
                    _ = await client.outcome("INCR", "n")
                    return client.refusal == .refused(code: "WRONGPASS")
                })
            _ = await direct(cluster.servers[1], user)
            #expect(await becomes { client.masterPort == cluster.servers[1] && client.isReady })
            #expect(client.refusal == nil)
            guard case .success = await client.outcome("INCR", "n") else { return _ = Issue.record("refused") }
        }
    }

    @Test @LoopActor func `believes no sentinel that is alone with what it says`() async throws {
        let cluster = try await onThread { try RedisSentinelServers(replicas: 0, sentinels: 2) }
        // Its master takes writes, and is another.
        let stale = try await onThread { try RedisSentinelServers(replicas: 0, sentinels: 1) }
        try await withFailoverClient(stale.sentinels + cluster.sentinels) { client in
            #expect(await becomes { client.isReady })
            #expect(client.masterPort == cluster.servers[0])
            try await onThread { cluster.kill(cluster.sentinels) }
            // Two rounds with the stale one alone: it is no majority of all three.
            try await LoopActor.sleep(for: .seconds(1))
            #expect(client.masterPort == cluster.servers[0])
            guard case .success = await client.outcome("INCR", "n") else { return _ = Issue.record("refused") }
        }
    }

    @Test @LoopActor func `needs no restart when all have been down`() async throws {
        let cluster = try await onThread { try RedisSentinelServers(replicas: 0) }
        try await withFailoverClient(cluster.sentinels) { client in
            #expect(await becomes { client.isReady })
            try await onThread { cluster.kill(cluster.servers + cluster.sentinels) }
            #expect(await becomes { !client.isReady })
            let start = ContinuousClock.now
            guard case .failure = await client.outcome("INCR", "n") else { return _ = Issue.record("no failure") }
            #expect(ContinuousClock.now - start < .seconds(20))
            try await onThread {
                try cluster.startServer(cluster.servers[0])
                for sentinel in cluster.sentinels { try cluster.startSentinel(sentinel) }
            }
            #expect(await becomes { await client.outcome("INCR", "n") == .success(.integer(1)) })
        }
    }

    @Test @LoopActor func `tells that the sentinels know no such master, and lets no request wait for one`()
        async throws
    {
        let cluster = try await onThread { try RedisSentinelServers(replicas: 0, sentinels: 1) }
        try await withFailoverClient(cluster.sentinels) {
            $0.sentinels.master = "other"
            $0.server.timeout = .milliseconds(40)
        } _: { client in
            guard case .failure = await client.outcome("INCR", "n") else { return _ = Issue.record("no failure") }
            #expect(await becomes { client.refusal == .refused(code: "NOMASTER") })
            #expect(await client.outcome("INCR", "n") == .failure(.refused(code: "NOMASTER")))
        }
    }

    @Test @LoopActor func `needs no more rights on a sentinel than the manual says`() async throws {
        let cluster = try await onThread { try RedisSentinelServers(replicas: 0, sentinels: 1) }
        let rights = [
            "reset", "on", ">word", "resetchannels", "&*", "+ping", "+subscribe", "+sentinel|get-master-addr-by-name",
            "+sentinel|master",
        ]
        try await withRedis("") {
            $0.address = .internet(host: "127.0.0.1", port: cluster.sentinels[0])
        } _: { sentinel in
            _ = try await sentinel.send(RedisCommand(["ACL", "SETUSER", "watcher"] + rights))
            try await withFailoverClient(cluster.sentinels) {
                $0.sentinels.username = "watcher"
                $0.sentinels.password = "word"
            } _: { client in
                #expect(await becomes { client.isReady })
            }
            #expect(await sentinel.outcome("ACL", "LOG") == .success(.array([])))
            try await withFailoverClient(cluster.sentinels) {
                $0.sentinels.username = "watcher"
                $0.sentinels.password = "other"
            } _: { client in
                #expect(await becomes { client.refusal == .refused(code: "WRONGPASS") })
            }
        }
    }

    @Test @LoopActor func `tells of each sentinel what it responds`() async throws {
        let cluster = try await onThread { try RedisSentinelServers(replicas: 0, sentinels: 3) }
        try await withRedis("") {
            $0.address = .internet(host: "127.0.0.1", port: cluster.sentinels[1])
        } _: { sentinel in
            _ = try await sentinel.send(RedisCommand(["ACL", "SETUSER", "default", ">word"]))
        }
        try await onThread { cluster.kill(cluster.sentinels[2]) }
        let addresses = cluster.sentinels.map { RedisAddress.internet(host: "127.0.0.1", port: $0) }
        var options = RedisSentinels.Options(addresses: addresses, master: RedisSentinelServers.master)
        options.timeout = .seconds(2)
        let works = Result<RedisAddress, RedisError>.success(.internet(host: "127.0.0.1", port: cluster.servers[0]))
        let expected = [works, .failure(.refused(code: "NOAUTH")), .failure(.unavailable)]
        #expect(await RedisSentinels.statuses(options).map(\.master) == expected)
        options.master = "other"
        #expect(await RedisSentinels.statuses(options)[0].master == .failure(.refused(code: "NOMASTER")))
    }

    @Test(arguments: ["localhost", "127.0.0.1"])
    @LoopActor func `with TLS the certificate must be for the name that sentinels announce`(announced: String)
        async throws
    {
        let folder = try TemporaryFolder()
        let (tls, cluster) = try await onThread {
            let tls = try TestCertificate(for: "DNS:localhost", in: folder)
            return (tls, try RedisSentinelServers(replicas: 0, sentinels: 1, host: announced, tls: tls))
        }
        try await withFailoverClient(cluster.sentinels, host: "localhost") {
            $0.sentinels.tls = RedisTLS(certificateAuthorities: tls.certificate)
            $0.server.tls = $0.sentinels.tls
        } _: { client in
            if announced == "localhost" {
                #expect(await becomes { client.isReady })
                #expect(client.master == .internet(host: "localhost", port: cluster.servers[0]))
            } else {
                try await LoopActor.sleep(for: .seconds(2))
                #expect(!client.isReady && client.master == nil)
            }
        }
    }

    // MARK: The servers themselves

    /// Until a write succeeds on one of those that were replicas.
    @LoopActor private func gapOfServers(_ cluster: RedisSentinelServers) async -> Duration? {
        let start = ContinuousClock.now
        let isWritable = await becomes {
            for port in cluster.servers.dropFirst() where await direct(port, "SET", "probe", "1") != nil { return true }
            return false
        }
        return isWritable ? .now - start : nil
    }

    /// How many replicas have what this client has just written.
    @LoopActor private func replicasReached(by client: RedisFailoverClient) async -> Int {
        let request = RedisRequest(
            RedisCommand(["SET", "probe", "1"]), RedisCommand(["WAIT", "2", "1000"]), mayRepeat: true)
        let response = await withCheckedContinuation { continuation in
            client.send(request) { continuation.resume(returning: $0) }
        }
        guard case .reply(var cursor) = response else { return 0 }
        cursor.goTo(reply: 1)
        guard case .integer(let reached) = RedisReply(&cursor) else { return 0 }
        return reached
    }
}

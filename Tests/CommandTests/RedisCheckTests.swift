import CloakroomLoop
import CloakroomOperations
import CloakroomServer
import CloakroomTestSupport
import Testing

@testable import CloakroomCommand

@Suite(.onLoop, .timeLimit(.minutes(2)))
struct RedisCheckTests {
    @LoopActor private func findings(
        _ cluster: RedisClusterServers, isReadOnly: Bool = false
    ) async throws -> [String] {
        let text = """
            {
              region: "eu-central-1", bucket: "photos",
              tokens: {issuers: [{issuer: "https://auth.example", audiences: ["cloakroom"], secret: {env: "SIGNING"}}]},
              vending: {roleARN: "arn:aws:iam::000000000000:role/session"},
              redis: {cluster: ["127.0.0.1:\(cluster.ports[0])"]},
            }
            """
        let environment = ["SIGNING": "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae"]
        let settings = try Settings.load(file: "/settings.json5", environment: environment) { path in
            path == "/settings.json5" ? Array(text.utf8) : nil
        }
        let options = DoctorRun.DoctorOptions(
            url: nil, certificateAuthorities: nil, sockets: [], isReadOnly: isReadOnly, limit: .seconds(20))
        let findings = await RedisCheck(DoctorDependencies(settings, options)).findings()
        return findings.map { "\($0.level.rawValue): \($0.found)" }
    }

    @Test @LoopActor func `looks at each primary of a cluster`() async throws {
        let cluster = try await onThread { try RedisClusterServers(replicas: 0) }
        _ = try await onThread {
            try cluster.command(["-p", "\(cluster.ports[2])", "CONFIG", "SET", "maxmemory-policy", "allkeys-lru"])
        }
        let found = try await findings(cluster)
        #expect(found.contains("ok: scripts run and write"), "\(found)")
        #expect(found.contains("ok: 127.0.0.1:\(cluster.ports[0]): eviction policy is noeviction"), "\(found)")
        #expect(found.contains("error: 127.0.0.1:\(cluster.ports[2]): eviction policy is allkeys-lru"), "\(found)")
    }

    @Test @LoopActor func `tells which primary of a cluster refuses the scripts, and which take them`() async throws {
        let cluster = try await onThread { try RedisClusterServers(replicas: 0) }
        _ = try await onThread {
            try cluster.command(["-p", "\(cluster.ports[1])", "CONFIG", "SET", "maxmemory", "1"])
        }
        let found = try await findings(cluster).filter { $0.contains("script") }
        let expected = cluster.ports.map { port in
            port == cluster.ports[1]
                ? "error: 127.0.0.1:\(port): a script is refused: oom"
                : "ok: 127.0.0.1:\(port): scripts run and write"
        }
        #expect(found.sorted() == expected.sorted())
        // What writes nothing is taken by all.
        let reading = try await findings(cluster, isReadOnly: true)
        #expect(reading.contains("ok: scripts run; writing was not tried"), "\(reading)")
    }
}

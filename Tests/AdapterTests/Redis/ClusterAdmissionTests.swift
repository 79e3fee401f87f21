import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomRedis
@testable import CloakroomServer

/// The rate limit and the user's record together, on two primaries of a real cluster, of which one is lost.
@Suite(.onLoop, .serialized, .timeLimit(.minutes(1)))
struct ClusterAdmissionTests {
    private static func third(_ tag: String) -> Int { HashSlot(of: Array(tag.utf8)).number * 3 / HashSlot.count }

    /// Of a user whose counts and record are on different primaries.
    private static let subject = (0...).lazy.map { number in
        Subject(userID: UserID("u_\(number)")!, deviceID: "phone", tier: nil, issuer: "https://a.example")
    }.first { third($0.owner) != third($0.userID.text) }!

    @LoopActor private func withAdmissions(
        _ body: @LoopActor (Admissions, UserRecords, RedisClusterServers) async throws -> Void
    ) async throws {
        let cluster = try await onThread {
            try RedisClusterServers(replicas: 0, options: ["--cluster-require-full-coverage", "no"])
        }
        let addresses = cluster.ports.map { RedisAddress.internet(host: "127.0.0.1", port: $0) }
        var server = RedisConnection.Options(address: addresses[0])
        server.timeout = .milliseconds(200)
        let client = RedisClusterClient(options: RedisClusterClient.Options(nodes: addresses, server: server))
        defer { client.close() }
        await client.settle(within: .seconds(10))
        let admissions = Admissions(
            limiter: RateLimiter(redis: client, keyPrefix: "c:"), tiers: try AdmissionTests.tiers(),
            settings: .init(enabled: true, withoutRecord: .default), now: { Date() })
        try await body(admissions, UserRecords(redis: client, keyPrefix: "c:"), cluster)
    }

    @Test @LoopActor func `a disabled user is refused although the counts are on a server that is lost`() async throws {
        try await withAdmissions { admissions, records, cluster in
            let subject = Self.subject
            try await records.disable(subject.userID, reason: "test")
            try await onThread { cluster.kill(cluster.ports[Self.third(subject.owner)]) }
            for _ in 0..<20 {
                let admission = await admissions.admit(.renewal(keys: 1), subject)
                guard case .failure(.userDisabled) = admission.entitlement else {
                    return _ = Issue.record("served: \(admission.entitlement)")
                }
                try? await LoopActor.sleep(for: .milliseconds(50))
            }
        }
    }

    /// Of a device that its issuer proves, whose counts and those of its user are on different primaries.
    private static let proven = (0...).lazy.map { number in
        Subject(
            userID: UserID("u_\(number)")!, deviceID: "phone", tier: nil, issuer: "https://a.example",
            isDeviceVouchedFor: true)
    }.first { third($0.owner) != third($0.provenDevice!) }!

    @Test(arguments: [true, false])
    @LoopActor func `one limit on a server that is lost costs a refused request none of the other`(isUserLost: Bool)
        async throws
    {
        try await withAdmissions { admissions, _, cluster in
            let subject = Self.proven
            let lost = cluster.ports[Self.third(isUserLost ? subject.owner : subject.provenDevice!)]
            try await onThread { cluster.kill(lost) }
            for _ in 0..<20 {
                #expect(await !admissions.admit(.vend, subject).decision.isAllowed)
                try? await LoopActor.sleep(for: .milliseconds(50))
            }
            try await onThread { try cluster.start(lost) }
            #expect(await becomes { await admissions.admit(.vend, subject).decision.isAllowed })
        }
    }

    @Test @LoopActor func `a record on a server that is lost is no refusal by the record, and costs no count`()
        async throws
    {
        try await withAdmissions { admissions, _, cluster in
            let subject = Self.subject
            let lost = cluster.ports[Self.third(subject.userID.text)]
            #expect(await admissions.admit(.vend, subject).decision.requests.remaining == 1)
            try await onThread { cluster.kill(lost) }
            for _ in 0..<20 {
                #expect(await !admissions.admit(.vend, subject).decision.isAllowed)
                try? await LoopActor.sleep(for: .milliseconds(50))
            }
            let open = await admissions.admit(.renewal(keys: 1), subject)
            #expect(open.decision.isAllowed && (try? open.entitlement.get()) != nil)
            try await onThread { try cluster.start(lost) }
            #expect(await becomes { await admissions.admit(.vend, subject).decision.isAllowed })
            #expect(await admissions.admit(.vend, subject).decision.verdict == .refused)
        }
    }
}

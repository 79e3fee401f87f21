import CloakroomHTTP
import Foundation
import Testing

@testable import CloakroomServer

struct EntitlementTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func tiers(_ text: String = "free: {}, pro: {}", _ more: String = "") throws -> Tiers {
        Tiers(try settings(smallest("tiers: {\(text)}, \(more)")))
    }

    private func policy(_ tier: Tier, _ cost: RateLimitCost) -> String? {
        tier.terms(of: cost).field["RateLimit-Policy"]
    }

    private func entitlement(_ tier: String, _ user: StoredUser) throws -> Entitlement {
        let text = "free: {storageLimitBytes: 100}, paid: {requiresSubscription: true}"
        let found = try #require(try tiers(text).tier(record: tier, claim: nil))
        switch user {
        case .record(let record):
            return Entitlement(tierName: found.name, tier: found.tier, record: record, now: now)
        case .unrecorded(let storageUsed, _):
            return Entitlement(tierName: found.name, tier: found.tier, storageUsed: storageUsed)
        }
    }

    @Test func `notifications have one limit, whatever tier their user has`() throws {
        let tiers = try tiers("free: {}, pro: {limits: {vend: 7}}", "limits: {notification: {requests: 9}}")
        let policies = try ["free", "pro"].map { name in policy(try #require(tiers[name]), .notification) }
        #expect(policies[0]?.contains("\"notification\";q=9") == true)
        #expect(policies[0] == policies[1])
    }

    @Test(
        arguments: [
            (nil, nil, "free"), (nil, "pro", "pro"), ("pro", nil, "pro"), ("pro", "free", "pro"),
            ("free", "pro", "free"),
            (nil, "gold", "free"), ("gold", "pro", nil),
        ] as [(String?, String?, String?)])
    func `goes by the record, then by the token, then by the default`(
        record: String?, claim: String?, expected: String?
    ) throws {
        #expect(try tiers().tier(record: record, claim: claim)?.name == expected)
    }

    @Test func `takes every tier's name where none is told apart`() throws {
        let tiers = Tiers(try settings(smallest(vending: "lifetimeSeconds: 1800")))
        for (record, claim, expected) in [("a", "b", "a"), (nil, "b", "b"), (nil, nil, "free")] {
            let found = try #require(tiers.tier(record: record, claim: claim))
            #expect(found.name == expected && found.tier.lifetime == .seconds(1800) && found.tier.scope.name == "full")
            #expect(!found.tier.requiresSubscription && found.tier.storageLimit == nil)
            #expect(policy(found.tier, .vend) == "\"vend\";q=60;w=3600, \"vendUser\";q=240;w=3600")
        }
    }

    @Test func `gives a tier what it names, and for the rest what all have`() throws {
        let text =
            "free: {}, pro: {lifetimeSeconds: 900, scope: \"read\", limits: {vend: 7, uploadBytes: 20000000},"
            + " userLimits: {upload: 7}, storageLimitBytes: 5}"
        let limits = "limits: {vend: {windowSeconds: 60}, renewKeys: {userKeys: 500}}"
        let pro = try #require(try tiers(text, limits)["pro"])
        #expect(pro.lifetime == .seconds(900) && pro.scope.name == "read" && pro.storageLimit == 5)
        #expect(policy(pro, .vend) == "\"vend\";q=7;w=60, \"vendUser\";q=28;w=60")
        #expect(policy(pro, .vendAll) == "\"vendAll\";q=70;w=60, \"vendAllUser\";q=280;w=60")
        #expect(
            policy(pro, .renewal(keys: 1))
                == #""renew";q=10;w=3600, "renewKeys";q=1000;w=3600;qu="keys", "#
                + #""renewUser";q=40;w=3600, "renewKeysUser";q=500;w=3600;qu="keys""#)
        #expect(
            policy(pro, .upload(bytes: 1))
                == #""upload";q=120;w=3600, "uploadBytes";q=20000000;w=3600;qu="bytes", "#
                + #""uploadUser";q=7;w=3600, "uploadBytesUser";q=80000000;w=3600;qu="bytes""#)
    }

    @Test func `a tier that the settings lack refuses all but renewals, whatever the record says besides`() throws {
        var record = UserRecord()
        record.tier = "gold"
        record.storageUsed = 1 << 40
        let free = try #require(try tiers("free: {storageLimitBytes: 100}").tier(record: nil, claim: nil))
        let unknown = Entitlement(
            tierName: free.name, tier: free.tier, record: record, isTierUnknown: true, now: now)
        for use in [Entitlement.Use.upload, .vend(writes: true), .vend(writes: false)] {
            #expect(unknown.refusal(of: use) == .unknownTier)
        }
        #expect(unknown.refusal(of: .renew) == nil)
    }

    @Test func `wants a subscription that has not ended, where the tier does`() throws {
        var record = UserRecord()
        for (seconds, expected) in [(nil, .subscriptionRequired), (0, .subscriptionRequired), (1, nil)]
            as [(Double?, Entitlement.Refusal?)]
        {
            record.subscriptionEnd = seconds.map { now.addingTimeInterval($0) }
            let paid = try entitlement("paid", .record(record))
            for use in [Entitlement.Use.upload, .vend(writes: true), .vend(writes: false)] {
                #expect(paid.refusal(of: use) == expected)
            }
            #expect(paid.refusal(of: .renew) == nil)
            #expect(try entitlement("free", .record(record)).refusal(of: .upload) == nil)
        }
        #expect(try entitlement("paid", .unrecorded(storageUsed: 0)).refusal(of: .upload) == .subscriptionRequired)
    }

    @Test(
        arguments: [
            (99, nil, nil), (100, nil, .storageExceeded), (100, 101, nil), (0, 0, .storageExceeded),
            (1 << 50, Int.max, nil),
        ] as [(Int, Int?, Entitlement.Refusal?)])
    func `lets nobody store beyond the limit, and everybody read and renew`(
        used: Int, limit: Int?, expected: Entitlement.Refusal?
    ) throws {
        var record = UserRecord()
        record.storageUsed = used
        record.storageLimit = limit
        let free = try entitlement("free", .record(record))
        #expect(free.refusal(of: .upload) == expected)
        #expect(free.refusal(of: .vend(writes: true)) == expected)
        #expect(free.refusal(of: .vend(writes: false)) == nil)
        #expect(free.refusal(of: .renew) == nil)
    }

    @Test(arguments: [(0, nil), (99, nil), (100, .storageExceeded)] as [(Int, Entitlement.Refusal?)])
    func `holds the tier's limit against users without a record, too`(
        used: Int, expected: Entitlement.Refusal?
    ) throws {
        let free = try entitlement("free", .unrecorded(storageUsed: used))
        #expect(free.refusal(of: .upload) == expected)
        #expect(free.refusal(of: .vend(writes: true)) == expected)
        #expect(free.refusal(of: .vend(writes: false)) == nil)
        #expect(free.refusal(of: .renew) == nil)
    }
}

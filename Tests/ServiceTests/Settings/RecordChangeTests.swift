import CloakroomOperations
import Testing

@testable import CloakroomServer

/// What `check --former` says of users' records.
struct RecordChangeTests {
    private func texts(_ former: String, _ new: String) throws -> [String] {
        RecordChange(from: try settings(smallest(former)), to: try settings(smallest(new))).warnings.map(\.text)
    }

    @Test func `names tiers that are gone`() throws {
        #expect(
            try texts("tiers: {free: {}, pro: {}, old: {}}", "tiers: {free: {}, premium: {}}") == [
                "users of tiers that are gone (old, pro) get no credentials and no uploads (unknown_tier);"
                    + " their renewals go on by the limits of free"
            ])
        #expect(try texts("tiers: {free: {}, pro: {}}", "tiers: {free: {}, pro: {}, premium: {}}") == [])
        // All names are taken for one tier then.
        #expect(try texts("tiers: {free: {}, pro: {}}", "") == [])
        #expect(
            try texts("", "tiers: {free: {}, pro: {}}") == [
                "there were no tiers: users whose record names another get no credentials and no uploads (unknown_tier);"
                    + " their renewals go on by the limits of free"
            ])
    }

    @Test(arguments: [
        (
            "redis: {keyPrefix: 'a:'}", "redis: {keyPrefix: 'b:'}", "redis.keyPrefix was \"a:\", and is \"b:\""
        ),
        ("redis: {database: 1}", "", "redis.database was 1, and is 0"),
        ("redis: {address: 'a:1'}", "redis: {address: 'b:1'}", "Redis was a:1, and is b:1"),
        (
            "redis: {address: 'a:1'}", "redis: {cluster: ['b:1']}", "Redis was a:1, and is the cluster of b:1"
        ),
        (
            "redis: {sentinels: ['s:1', 't:1'], master: 'one'}", "redis: {sentinels: ['s:1', 't:1'], master: 'two'}",
            "Redis was one, of the sentinels s:1, t:1, and is two, of the sentinels s:1, t:1"
        ),
        (
            "redis: {cluster: ['a:1', 'b:1']}", "redis: {cluster: ['c:1']}, entitlements: {withoutRecord: 'refuse'}",
            "Redis was the cluster of a:1, b:1, and is the cluster of c:1"
        ),
        (
            "redis: {database: 1, keyPrefix: 'a:'}", "redis: {keyPrefix: 'b:'}",
            "redis.database was 1, and is 0; redis.keyPrefix was \"a:\", and is \"b:\""
        ),
    ])
    func `says what another place in Redis means`(former: String, new: String, change: String) throws {
        #expect(
            try texts(former, new) == [
                "users' records are looked for elsewhere: \(change). Disablings, revocations, tiers, storage limits and"
                    + " shares that are not there are not seen, and limits begin anew"
            ])
    }

    @Test(arguments: [
        ("", ""), ("redis: {address: '127.0.0.1:6379'}", ""),
        ("redis: {password: {env: 'SIGNING'}}", "redis: {timeoutMilliseconds: 50}"),
        (
            "redis: {sentinels: ['s:1', 't:1'], master: 'one'}", "redis: {sentinels: ['u:1', 's:1'], master: 'one'}"
        ),
        ("redis: {cluster: ['a:1', 'b:1']}", "redis: {cluster: ['b:1', 'c:1']}"),
        ("redis: {keyPrefix: 'a:'}, entitlements: {enabled: false}", "redis: {keyPrefix: 'b:'}"),
    ])
    func `says nothing where records are found as before, or there were none`(former: String, new: String) throws {
        #expect(try texts(former, new) == [])
    }
}

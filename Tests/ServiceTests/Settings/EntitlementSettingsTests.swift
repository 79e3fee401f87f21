import Testing

@testable import CloakroomServer

struct EntitlementSettingsTests {
    private func faults(_ more: String, vending: String = "", environment: [String: String] = [:]) -> [String] {
        do throws(SettingsErrors) {
            _ = try settings(smallest(more, vending: vending), environment: environment)
            return []
        } catch {
            return error.faults.map(\.description)
        }
    }

    @Test func `takes for a record a name that is one, and one of the tiers where there are any`() throws {
        let free = try settings(smallest())
        #expect(free.faultOfTier("gold") == nil)
        for name in ["", "a b", String(repeating: "a", count: 65)] {
            #expect(free.faultOfTier(name) == "takes 1…64 letters, digits and _.:/=+@-")
        }
        let tiers = try settings(smallest("tiers: {pro: {}, free: {}}"))
        #expect(tiers.faultOfTier("pro") == nil)
        #expect(tiers.faultOfTier("gold") == "takes one of the settings' tiers: free, pro")
    }

    @Test func `reads tiers, and has none where none are given`() throws {
        let none = try settings(smallest())
        #expect(none.tiers.isEmpty && none.entitlements.enabled && none.entitlements.withoutRecord == .default)
        let two = try settings(
            smallest(
                """
                tiers: {free: {}, "pro.2": {lifetimeSeconds: 7200, scope: "upload", storageLimitBytes: 0,
                  requiresSubscription: true, limits: {renew: 1, vend: 2, upload: 3}}},
                entitlements: {withoutRecord: "refuse"}
                """))
        #expect(Set(two.tiers.keys) == ["free", "pro.2"] && two.entitlements.withoutRecord == .refuse)
        let (free, pro) = (try #require(two.tiers["free"]), try #require(two.tiers["pro.2"]))
        #expect(free.lifetime == .seconds(3600) && free.scope.name == "full" && free.storageLimit == nil)
        #expect(free.renewals == nil && free.vends == nil && free.uploads == nil && !free.requiresSubscription)
        #expect(pro.lifetime == .seconds(7200) && pro.scope.name == "upload" && pro.storageLimit == 0)
        #expect(pro.renewals == 1 && pro.vends == 2 && pro.uploads == 3 && pro.requiresSubscription)
    }

    @Test(arguments: [
        (
            "tiers: {fre: {}}", "",
            #"vending.defaultTier: is "free", which tiers lacks; did you mean "fre"?"#
        ),
        (
            "tiers: {gold: {}, silver: {}}", "",
            #"vending.defaultTier: is "free", which tiers lacks; give one of: gold, silver"#
        ),
        (
            "tiers: {free: {scope: \"raad\"}}", "",
            #"tiers.free.scope: is "raad", which is no scope; did you mean "read"?"#
        ),
        (
            "tiers: {free: {lifetimeSeconds: 60}}", "",
            "tiers.free.lifetimeSeconds: is 60, out of range; give: integer, 900…43200"
        ),
        (
            "tiers: {free: {lifetimeSecond: 900}}", "",
            "tiers.free.lifetimeSecond: is not a key; did you mean tiers.free.lifetimeSeconds?"
        ),
        (
            "tiers: {free: {limits: {vends: 1}}}", "",
            "tiers.free.limits.vends: is not a key; did you mean tiers.free.limits.vend?"
        ),
        ("tiers: {free: 1}", "", "tiers.free: is a number; give: an object"),
        (
            "tiers: []", "",
            "tiers: is an array; give: object of objects, each named by: string of 1…64 letters, digits and _.:/=+@-"
        ),
        ("tiers: {}", "", "tiers: is empty; add an object, or leave it out"),
        ("tiers: {\"a b\": {}}", "", #"tiers: has the name "a b"; give: string of 1…64 letters, digits and _.:/=+@-"#),
        (
            "entitlements: {enabled: false, withoutRecord: \"refuse\"}", "",
            #"entitlements.withoutRecord: is "refuse", but no record is read; give "default", or entitlements.enabled: true"#
        ),
        (
            "tiers: {free: {requiresSubscription: true}}, entitlements: {enabled: false}", "",
            "tiers.free.requiresSubscription: is true, but no record is read; give false, or entitlements.enabled: true"
        ),
        (
            "limits: {vend: {whenRedisIsAway: \"open\"}}, entitlements: {withoutRecord: \"refuse\"}", "",
            #"limits.vend.whenRedisIsAway: is "open", while entitlements.withoutRecord refuses whom no record knows; give "closed": without Redis no user has a record"#
        ),
    ])
    func `names what is wrong, and the way out`(more: String, vending: String, expected: String) {
        #expect(faults(more, vending: vending) == [expected])
    }

    @Test func `lets no tier outlive the keys that vend for it`() {
        let keys = ["AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"]
        #expect(
            faults("tiers: {free: {lifetimeSeconds: 7200}}", environment: keys) == [
                "tiers.free.lifetimeSeconds: is 7200, but credentials with a session token can vend 3600 at most; "
                    + "give 3600 or less, or the keys of an IAM user"
            ])
    }
}

import CloakroomAWS
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct CORSPlanTests {
    private static let web = Settings.Web(origins: ["https://a.example", "https://b.example"])

    private static func rule(_ id: String, _ origins: [String], exposed: [String] = []) -> CORSRule {
        CORSRule(id: id, origins: origins, methods: ["GET"], headers: ["*"], exposed: exposed, maximumAge: 60)
    }

    private static func ours(_ origins: [String] = web.origins, id: String = BucketRule.id) -> CORSRule {
        CORSRule(
            id: id, origins: origins, methods: BucketRule.methods, headers: ["*"], exposed: BucketRule.exposed,
            maximumAge: 3600)
    }

    private static func plan(_ rules: [CORSRule], _ web: Settings.Web = web) -> CORSPlan {
        CORSPlan(CORSConfiguration(rules: rules), web)
    }

    @Test func `puts its rule before others, which stay`() {
        let other = Self.rule("other", ["*"])
        let plan = Self.plan([other])
        #expect(plan.changes == [.added(Self.ours()), .kept(other)])
        #expect(plan.target.rules == [Self.ours(), other])
        #expect(Self.plan(plan.target.rules).changesNothing)
    }

    @Test func `replaces its earlier rules, also where a store keeps no names`() {
        let (other, former) = (Self.rule("", ["https://c.example"]), Self.ours(["https://old.example"]))
        let nameless = Self.ours(["https://older.example"], id: "")
        let plan = Self.plan([other, former, nameless])
        #expect(plan.changes == [.added(Self.ours()), .kept(other), .removed(former), .removed(nameless)])
        #expect(plan.target.rules == [Self.ours(), other])
        #expect(Self.plan([other, Self.ours(id: "")]).changesNothing)
    }

    @Test func `keeps a rule of another name that says what its own would say`() {
        let other = Self.ours(["https://staging.example"], id: "staging-site")
        #expect(Self.plan([other]).changes == [.added(Self.ours()), .kept(other)])
        #expect(Self.plan([other], Settings.Web(origins: [])).changesNothing)
    }

    @Test func `comes out from behind a rule that hides it`() {
        let other = Self.rule("other", ["https://*.example"])
        let plan = Self.plan([other, Self.ours()])
        #expect(plan.changes == [.added(Self.ours()), .kept(other), .removed(Self.ours())])
        #expect(plan.target.rules == [Self.ours(), other])
    }

    @Test func `without origins removes its own rule and no other`() {
        let other = Self.rule("other", ["*"])
        let none = Settings.Web(origins: [])
        #expect(Self.plan([Self.ours(), other], none).target.rules == [other])
        #expect(Self.plan([Self.ours()], none).target.rules == [])
        #expect(Self.plan([other], none).changesNothing && Self.plan([], none).changesNothing)
    }

    @Test func `knows its rules by what they say when a store changes their form`() {
        let plan = Self.plan([])
        let returned = CORSRule(
            id: "", origins: Self.web.origins.reversed(), methods: BucketRule.methods.reversed(), headers: ["*"],
            exposed: BucketRule.exposed.map { $0.lowercased() }, maximumAge: 3600)
        #expect(plan.isDone(in: CORSConfiguration(rules: [returned])))
        #expect(!plan.isDone(in: CORSConfiguration()))
        #expect(!plan.isDone(in: CORSConfiguration(rules: [Self.ours(["https://a.example"])])))
    }
}

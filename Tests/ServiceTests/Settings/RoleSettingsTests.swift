import CloakroomAWS
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct RoleSettingsTests {
    private static func roles(_ text: String) throws -> SessionRoles {
        try settings(smallest(vending: "externalID: 'x1', roles: [\(text)]")).vending.roles
    }

    private static func faults(_ text: String) -> [String] { settingsFaults(smallest(vending: "roles: [\(text)]")) }

    @Test func `without a list there is the one role`() throws {
        let roles = try settings(smallest()).vending.roles
        #expect(roles.active.map(\.name) == ["main"] && roles.retired.isEmpty)
        #expect(roles.distinct.map(\.nameInIAM) == ["session"])
    }

    @Test func `a role has what it does not name from the main one`() throws {
        let roles = try Self.roles(
            """
            {name: "b", stsRegion: "eu-west-1"},
            {name: "c", roleARN: "arn:aws:iam::222222222222:role/path/c", externalID: "x2", profile: "p"},
            """)
        let told = roles.active.map {
            "\($0.name) \($0.arn) \($0.externalID ?? "-") \($0.profile ?? "-") \($0.sts.url) \($0.sts.signingRegion)"
        }
        let arn = "arn:aws:iam::000000000000:role/session"
        #expect(
            told == [
                "main \(arn) x1 - https://sts.eu-central-1.amazonaws.com eu-central-1",
                "b \(arn) x1 - https://sts.eu-west-1.amazonaws.com eu-west-1",
                "c arn:aws:iam::222222222222:role/path/c x2 p https://sts.eu-central-1.amazonaws.com eu-central-1",
            ])
        #expect(roles.distinct.map(\.nameInIAM) == ["session", "c"])
    }

    @Test(
        arguments: [
            ("arn:aws:iam::222222222222:role/path/c", "222222222222"),
            ("arn:aws-cn:iam::111111111111:role/c", "111111111111"),
            ("arn:aws:iam:::role/c", nil), ("c", nil),
        ] as [(String, String?)])
    func `a role's ARN names its account, where it has one`(arn: String, account: String?) throws {
        let role = SessionRole(
            name: "c", arn: arn, externalID: nil, profile: nil, sts: try .sts(region: "eu-central-1"))
        #expect(role.account == account && role.nameInIAM == "c")
    }

    @Test func `a role may have an STS of its own`() throws {
        let roles = try Self.roles("{name: 'b', stsEndpoint: 'http://127.0.0.1:1', stsRegion: 'eu-west-1'}")
        #expect(roles.active[1].sts.url == "http://127.0.0.1:1" && roles.active[1].sts.signingRegion == "eu-west-1")
    }

    @Test func `retired roles have no users, but revocations reach them`() throws {
        let former = "arn:aws:iam::222222222222:role/former"
        let roles = try Self.roles("{name: 'old', roleARN: '\(former)', retired: true}")
        #expect(roles.active.map(\.name) == ["main"] && roles.retired.map(\.name) == ["old"])
        #expect(roles.distinct.map(\.arn).last == former)
    }

    @Test(arguments: [
        (
            "{name: 'main', stsRegion: 'eu-west-1'}",
            "vending.roles[0].name: is \"main\", as of another role; give each role a name of its own"
        ),
        (
            "{name: 'b', stsRegion: 'eu-west-1'}, {name: 'b', stsRegion: 'eu-west-2'}",
            "vending.roles[1].name: is \"b\", as of another role; give each role a name of its own"
        ),
        (
            "{name: 'b'}",
            "vending.roles[0].name: is a role that differs from main in its name only;"
                + " give it a roleARN, profile, stsRegion or stsEndpoint of its own"
        ),
        (
            "{name: 'b', roleARN: 'arn:aws-cn:iam::222222222222:role/b'}",
            "vending.roles[0].roleARN: is not in the partition aws of eu-central-1; give a role of aws"
        ),
        (
            "{name: 'b', stsRegion: 'cn-north-1'}",
            "vending.roles[0].stsRegion: is cn-north-1, outside the partition aws of the bucket; give a Region of aws"
        ),
        (
            "{name: 'B'}",
            "vending.roles[0].name: is \"B\"; give: word of 1…32 of a-z 0-9 _ -, beginning with a letter"
        ),
        ("", "vending.roles: is empty; add at least one object"),
    ])
    func `tells what does not go together`(text: String, fault: String) {
        #expect(Self.faults(text) == [fault])
    }

    @Test func `has a bound`() {
        let names = (1...16).map { "{name: 'r\($0)', stsRegion: 'eu-west-\($0)'}" }.joined(separator: ", ")
        #expect(Self.faults(names) == ["vending.roles: has 16 roles; give 15 at most"])
    }

    @Test func `check warns of roles that share one quota of STS`() throws {
        let other = "roleARN: 'arn:aws:iam::222222222222:role/b'"
        let shared = try settings(smallest(vending: "roles: [{name: 'b', \(other)}]"))
        #expect(
            SettingsReview(shared).warnings.map(\.text).contains(
                "the roles main and b share one quota of STS: same credentials, same endpoint"))
        let apart = try settings(smallest(vending: "roles: [{name: 'b', \(other), profile: 'b'}]"))
        #expect(!SettingsReview(apart).warnings.contains { $0.text.contains("quota") })
    }

    @Test func `check names a role that revocations would not reach any more`() throws {
        let former = try settings(
            smallest(vending: "roles: [{name: 'b', roleARN: 'arn:aws:iam::222222222222:role/b'}]"))
        let retired = try settings(
            smallest(vending: "roles: [{name: 'b', roleARN: 'arn:aws:iam::222222222222:role/b', retired: true}]"))
        #expect(
            SettingsReview.policyChange(from: former, to: try settings(smallest()))
                == "Revocations would not reach sessions of arn:aws:iam::222222222222:role/b: keep it in vending.roles"
                + " with retired: true for 12 hours")
        #expect(SettingsReview.policyChange(from: former, to: retired) == "Policies stay as they are")
    }
}

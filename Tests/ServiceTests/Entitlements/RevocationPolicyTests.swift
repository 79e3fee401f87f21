import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct RevocationPolicyTests {
    private let time = Date(timeIntervalSince1970: 1_800_000_000)

    private func policy(_ users: [(String, Double)]) throws -> RevocationPolicy {
        var policy = RevocationPolicy()
        for (user, seconds) in users {
            policy.revoke(try #require(UserID(user)), before: time.addingTimeInterval(seconds))
        }
        return policy
    }

    @Test func `denies everything to the sessions of a user that are older`() throws {
        #expect(
            try policy([("u_1", -0.5)]).text() == """
                {"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*","Condition":\
                {"StringEquals":{"aws:PrincipalTag/UserId":["u_1"]},\
                "DateLessThan":{"aws:TokenIssueTime":"2027-01-15T08:00:00Z"}}}]}
                """)
    }

    @Test func `reads what it wrote, and keeps the later time of a user`() throws {
        var policy = try policy([("u_1", 0), ("u_2", 0), ("u_3", 60)])
        #expect(try RevocationPolicy(parsing: policy.text()) == policy)
        policy.revoke(try #require(UserID("u_1")), before: time.addingTimeInterval(-60))
        #expect(try policy == self.policy([("u_1", 0), ("u_2", 0), ("u_3", 60)]))
        policy.revoke(try #require(UserID("u_1")), before: time.addingTimeInterval(60))
        #expect(try policy == self.policy([("u_1", 60), ("u_2", 0), ("u_3", 60)]))
    }

    @Test func `forgets what has no session left`() throws {
        var policy = try policy([("u_1", 0), ("u_2", 1)])
        policy.drop(at: time.addingTimeInterval(3601), lifetime: .seconds(3600))
        #expect(try policy == self.policy([("u_2", 1)]))
    }

    @Test func `lets all share the latest time before it grows too long`() throws {
        let few = try policy((0..<20).map { ("u_\($0)", Double($0)) })
        #expect(try RevocationPolicy(parsing: few.text()) == few)
        #expect(try few.users(movedBy: few.text()).isEmpty)
        let many = try policy((0..<100).map { ("u_\($0)", Double($0)) })
        let text = try many.text()
        #expect(text.utf8.count <= RevocationPolicy.maximumLength)
        #expect(try RevocationPolicy(parsing: text) == policy((0..<100).map { ("u_\($0)", 99) }))
        let moved = try (0..<99).map { try #require(UserID("u_\($0)")) }
        #expect(try many.users(movedBy: text) == Set(moved))
        let tooMany = try policy((0..<500).map { ("u_\($0)-\(String(repeating: "x", count: 40))", 0) })
        #expect(throws: RevocationPolicy.PolicyError.tooMany(500)) { try tooMany.text() }
    }

    @Test func `denies the sessions of all where there is no room for one user more`() throws {
        var many = try policy((0..<500).map { ("u_\($0)-\(String(repeating: "x", count: 40))", Double(-$0)) })
        let text = try many.textDenyingAllIfNeeded()
        #expect(
            text == """
                {"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*","Condition":\
                {"DateLessThan":{"aws:TokenIssueTime":"2027-01-15T08:00:00Z"}}}]}
                """)
        #expect(many.count == 0 && many.everyone == time)
        var policy = try RevocationPolicy(parsing: text)
        #expect(policy == many)
        // Of those that are denied anyway none is named; one that was revoked later is.
        let user = try #require(UserID("u_1"))
        policy.revoke(user, before: time)
        #expect(policy == many)
        policy.revoke(user, before: time.addingTimeInterval(60))
        #expect(policy.count == 1)
        #expect(try RevocationPolicy(parsing: policy.text()) == policy)
        policy.drop(at: time.addingTimeInterval(43_201), lifetime: .seconds(43_200))
        #expect(policy.everyone == nil && policy.count == 1)
    }

    @Test func `denies the sessions of all only where it has to`() throws {
        var few = try policy((0..<100).map { ("u_\($0)", Double($0)) })
        let text = try few.text()
        #expect(try few.textDenyingAllIfNeeded() == text)
        #expect(few.everyone == nil && few.count == 100)
    }

    /// As the help of `user revoke` and the manual say, the latter of 4,700 characters that others take as well.
    @Test(arguments: [(RevocationPolicy.maximumLength, 144), (RevocationPolicy.quotaOfRole - 4700, 130)])
    func `has room for so many users whose ids have a UUID`(limit: Int, count: Int) throws {
        func users(_ count: Int) -> [(String, Double)] {
            (0..<count).map { ("u_23ccd2f5-0000-5000-8000-\(String(100_000_000_000 + $0))", Double($0)) }
        }
        #expect(try policy(users(count)).text(within: limit).utf8.count <= limit)
        let tooMany = try policy(users(count + 1))
        #expect(throws: RevocationPolicy.PolicyError.tooMany(count + 1)) { try tooMany.text(within: limit) }
    }

    @Test func `has no shorter form than the denial of all sessions`() throws {
        var many = try policy([("u_1", 0), ("u_2", 1)])
        #expect(throws: RevocationPolicy.PolicyError.tooMany(0)) { try many.textDenyingAllIfNeeded(within: 100) }
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"Statement":[{}]}"#,
        #"{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:PrincipalTag/UserId":["u"]},"DateLessThan":{"aws:TokenIssueTime":"2027-01-15T08:00:00Z"}}}]}"#,
        #"{"Statement":[{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:PrincipalTag/UserId":["*"]},"DateLessThan":{"aws:TokenIssueTime":"2027-01-15T08:00:00Z"}}}]}"#,
        #"{"Statement":[{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:PrincipalTag/UserId":["u"]}}}]}"#,
        #"{"Statement":[{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:PrincipalTag/Tier":["u"]},"DateLessThan":{"aws:TokenIssueTime":"2027-01-15T08:00:00Z"}}}]}"#,
        #"{"Statement":[{"Effect":"Deny","Action":"*","Resource":"*","Condition":{}}]}"#,
    ])
    func `does not take for its own what somebody else wrote`(text: String) {
        #expect(throws: RevocationPolicy.PolicyError.otherStatements) { try RevocationPolicy(parsing: text) }
    }
}

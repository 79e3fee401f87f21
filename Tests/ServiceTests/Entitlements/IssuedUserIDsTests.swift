import CloakroomOperations
import Testing

@testable import CloakroomServer

struct IssuedUserIDsTests {
    /// With the issuers `https://a.example`, `https://b.example` …
    private static func withIssuers(_ subjects: [String]) throws -> Settings {
        let issuers = zip("abc", subjects).map { name, subjects in
            "{issuer: 'https://\(name).example', audiences: ['x'], secret: {env: 'SIGNING'}, subjects: '\(subjects)'}"
        }
        return try settings(
            """
            {region: 'eu-central-1', bucket: 'photos', vending: {roleARN: 'arn:aws:iam::000000000000:role/session'},
             tokens: {issuers: [\(issuers.joined(separator: ", "))]}}
            """)
    }

    @Test(
        arguments: [
            (["mapped"], "alice", false), (["mapped"], "U_1", false),
            (["mapped"], "u_23ccd2f5-6f5e-5d6a-9c3b-0123456789ab", true),
            (["mapped", "mapped"], "alice", false), (["mapped", "plain"], "alice", true), (["plain"], "alice", true),
            (["plain"], "u_23ccd2f5-6f5e-5d6a-9c3b-0123456789ab", true),
        ] as [([String], String, Bool)])
    func `where all issuers map their subjects, only an id with a UUID is a user's`(
        subjects: [String], id: String, isIssued: Bool
    ) throws {
        #expect(try Self.withIssuers(subjects).isIssued(#require(UserID(id))) == isIssued)
    }

    @Test func `a subject's user is that of its tokens`() throws {
        let alone = try Self.withIssuers(["mapped"])
        let alice = UserID(mapping: "alice", of: "https://a.example")
        #expect(alone.userID(ofSubject: "alice", issuer: nil) == alice)
        #expect(alone.userID(ofSubject: "alice", issuer: "https://a.example") == alice)
        #expect(alone.userID(ofSubject: "alice", issuer: "https://b.example") == nil)
        let two = try Self.withIssuers(["mapped", "plain"])
        #expect(two.userID(ofSubject: "alice", issuer: nil) == nil)
        #expect(two.userID(ofSubject: "alice", issuer: "https://a.example") == alice)
        #expect(two.userID(ofSubject: "alice", issuer: "https://b.example") == UserID("alice"))
        #expect(
            two.userID(ofSubject: "a.b", issuer: "https://b.example")
                == UserID(mapping: "a.b", of: "https://b.example"))
    }
}

import CloakroomJSON
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// FAULTS row 23: whatever somebody calls themselves, nothing outside of their own folder is ever allowed.
struct HostileUserTests {
    private static let template = PolicyTemplate(bucket: "photos", partition: "aws")
    private static let prefixes = ["photos", "thumbnails", "metadata"]
    private static let known = [
        "u_1", "u_10", "u_1/../u_2", "*", "?", "**", "u_*", "${aws:username}", "${user}", "$", "${*}", "\"", "\\",
        "\"],\"Resource\":[\"*", "", ".", "..", "/", "photos", "ｕ_1", "u_1\u{0}", "u_1\n", "u\u{301}", "😀", "u 1",
        "u+1",
        "%2e%2e", "arn:aws:s3:::photos/*", String(repeating: "a", count: 64), String(repeating: "a", count: 65),
    ]
    private static let alphabet = Array("u_10*?${}aws:username/..\\\"'%+ \n\r\té😀\u{0}ABC-")

    private static func grant(_ scope: Scope) -> Grant { Grant(scope: scope, lifetime: .seconds(900), tier: "free") }

    /// Keys of which many begin nearly as the user's own do.
    private static func keys(near user: String, subject: String, _ generator: inout SeededGenerator) -> [String] {
        let letters = Array("ab/*?.$" + user)
        return prefixes.flatMap { prefix -> [String] in
            let own = "\(prefix)/\(user)/"
            var mutated = Array(own + "a.jpg")
            let place = Int.random(in: 0..<mutated.count, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: mutated[place] = letters.randomElement(using: &generator) ?? "x"
            case 1: mutated.insert(letters.randomElement(using: &generator) ?? "x", at: place)
            default: mutated.remove(at: place)
            }
            return [
                own, "\(own)a", "\(prefix)/\(user)", "\(prefix)/\(user)0/a", "\(prefix)/\(subject)/a",
                "\(prefix)/x/\(user)/a",
                String(mutated), "\(prefix)/\(generator.text(of: letters, 0...6))",
                "\(prefix)/\(generator.text(of: letters, 0...3))/\(user)/a", generator.text(of: letters, 0...8),
            ]
        }
    }

    @Test(arguments: ["full", "read", "upload"], SeededGenerator.freshSeeds)
    func `allows nothing outside of the user's own folders, whoever asks`(name: String, seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let scopes = try Scopes(Self.template, prefixes: Self.prefixes, templates: [])
        let scope = try #require(scopes[name])
        let actions = [
            "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:RestoreObject", "s3:GetObjectAttributes",
            "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:PutObjectAcl", "s3:*",
        ]
        var allowed = 0
        for subject in Self.known + (0..<60).map({ _ in generator.text(of: Self.alphabet, 0...80) }) {
            let user = UserID(issuer: "https://auth.example", subject: subject)
            let text = scope.policy.text(for: user)
            let policy = try IAMPolicy(try JSON(parsing: Array(text.utf8)))
            // Whatever else IAM knows of the session must not help.
            let context = ["aws:username": ["u_2"], "aws:userid": ["u_2"], "aws:PrincipalTag/UserId": ["u_2"]]
            for key in Self.keys(near: user.text, subject: subject, &generator) {
                let isOwn = Self.prefixes.contains { key.utf8.starts(with: "\($0)/\(user.text)/".utf8) }
                for action in actions {
                    let request = IAMRequest(action, "arn:aws:s3:::photos/\(key)", context: context)
                    guard policy.allows(request) else { continue }
                    allowed += 1
                    #expect(isOwn, "\(subject) may \(action) \(key)")
                }
                for bucket in ["photos", "photos2"] {
                    var context = context
                    context["s3:prefix"] = [key]
                    let list = IAMRequest("s3:ListBucket", "arn:aws:s3:::\(bucket)", context: context)
                    #expect(!policy.allows(list) || isOwn && bucket == "photos", "\(subject) may list \(key)")
                }
            }
            #expect(!policy.allows(IAMRequest("s3:ListBucket", "arn:aws:s3:::photos", context: context)))
        }
        #expect(allowed > 300)
    }

    @Test(arguments: ["full", "read", "upload"])
    func `answers a simulation as expected, for every user who can be`(name: String) throws {
        let scopes = try Scopes(
            Self.template, prefixes: ["photos", "a.b/c"], templates: [])
        let scope = try #require(scopes[name])
        for subject in ["u_1", "U", "1", "-", "photos", String(repeating: "Z", count: 64)] {
            let user = try #require(UserID(subject))
            let rows = PolicySimulation(
                Self.grant(scope), user: user, bucket: "photos", partition: "aws", at: Date()
            ).rows
            #expect(rows.filter { !$0.isAsExpected }.isEmpty)
            #expect(rows.contains { $0.isAllowed && $0.expected == true })
            #expect(rows.count { $0.expected == false } > 100)
        }
    }

    @Test func `has a simulation find what a policy gives away`() throws {
        // No check lets such a policy through; this is what the table would be for.
        let text = #"""
            {"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":["s3:GetObject"],
            "Resource":"arn:aws:s3:::photos/photos/${user}*"}}
            """#
        let language = try IAMPolicy(try JSON(parsing: Array(text.utf8)))
        let leaky = SessionPolicy(
            SessionPolicyCheck.CheckedPolicy(
                json: try JSON(parsing: Array(text.utf8)), language: language, folders: ["photos/"],
                requestPlaceholders: []))
        let simulation = PolicySimulation(
            Self.grant(Scope(name: "leaky", policy: leaky)), user: try #require(UserID("u_1")), bucket: "photos",
            partition: "aws", at: Date())
        #expect(
            simulation.rows.filter { !$0.isAsExpected }.map(\.target)
                == ["photos/u_10/a.jpg", "photos/u_1", "photos/u_1.jpg"])
    }

    @Test func `tells in plain words what a scope allows`() throws {
        let scopes = try Scopes(Self.template, prefixes: ["photos", "metadata"], templates: [])
        let user = try #require(UserID("u_1"))
        #expect(
            PolicyDescription(Self.grant(try #require(scopes["read"])), user: user).lines
                == ["read photos/u_1/ and metadata/u_1/", "list photos/u_1/ and metadata/u_1/"])
        #expect(
            PolicyDescription(Self.grant(try #require(scopes["upload"])), user: user).lines
                == ["write, abandon uploads to and list the parts of uploads to photos/u_1/ and metadata/u_1/"])
    }

    /// Against zlib's raw deflate at level 9, counted once: 276 and 533 bytes.
    @Test func `estimates what STS packs near to what deflate makes of it`() throws {
        let scopes = try Scopes(Self.template, prefixes: Self.prefixes, templates: [])
        let scope = try #require(scopes["full"])
        let user = try #require(UserID("u_3fa85f64-4567-89ab-cdef-0123456789ab"))
        #expect(scope.policy.text(for: user).count == 721)
        #expect((66...74).contains(PackedSize(policy: scope.policy.text(for: user), tags: []).percent))
        let tagged = Grant(scope: scope, lifetime: .seconds(900), tier: "premium").packedSize(for: user).percent
        #expect((73...82).contains(tagged))
    }

    @Test(arguments: SeededGenerator.freshSeeds) func `refuses a template that STS could not pack`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
        let prefixes = (0..<6).map { generator.text(of: letters, 40...40) + "\($0)" }
        #expect {
            try Scopes(
                Self.template, prefixes: prefixes,
                templates: [("full", BuiltInScope.upload.template(prefixes: prefixes))])
        } throws: { error in
            guard case Scopes.ScopeError.policy(_, .tooLarge(let percent)) = error else { return false }
            return percent > 100
        }
    }
}

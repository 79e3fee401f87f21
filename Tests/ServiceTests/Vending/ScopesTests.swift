import CloakroomAWS
import CloakroomWire
import CloakroomJSON
import Testing

@testable import CloakroomServer

struct ScopesTests {
    private static let template = PolicyTemplate(bucket: "photos", partition: "aws")

    private static func scopes(
        prefixes: [String] = ["photos", "metadata"], _ templates: [(String, String)] = []
    ) throws -> Scopes {
        try Scopes(
            template, prefixes: prefixes,
            templates: templates.map { (name: $0.0, json: try JSON(parsing: Array($0.1.utf8))) })
    }

    private static func policy(_ statements: String...) -> String {
        #"{"Version":"2012-10-17","Statement":[\#(statements.joined(separator: ","))]}"#
    }

    private static func objects(_ actions: String, _ resources: String, _ more: String = "") -> String {
        #"{"Effect":"Allow","Action":[\#(actions)],"Resource":[\#(resources)]\#(more)}"#
    }

    private static func list(_ condition: String) -> String {
        #"{"Effect":"Allow","Action":"s3:ListBucket","Resource":"arn:aws:s3:::photos","Condition":{\#(condition)}}"#
    }

    private static func key(_ key: String) -> String { #""arn:aws:s3:::photos/\#(key)""# }

    @Test func `names the folders that a scope opens to a user`() throws {
        let user = try #require(UserID("u_1"))
        #expect(
            try Self.scopes(prefixes: ["photos", "a/b"])["upload"]?.policy.prefixes(for: user)
                == ["photos": "photos/u_1/", "a/b": "a/b/u_1/"])
        #expect(try Self.scopes(prefixes: [""])["read"]?.policy.prefixes(for: user) == ["": "u_1/"])
        let own = Self.policy(Self.objects(#""s3:GetObject""#, Self.key("films/${user}/*")))
        #expect(try Self.scopes([("films", own)])["films"]?.policy.prefixes(for: user) == ["films": "films/u_1/"])
    }

    @Test func `knows what each built-in scope may`() throws {
        let scopes = try Self.scopes(prefixes: ["photos"])
        let user = try #require(UserID("u_1"))
        #expect(scopes.names == ["full", "read", "upload"])
        #expect(
            scopes["read"]?.policy.text(for: user)
                == #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","#
                + #""Resource":"arn:aws:s3:::photos/photos/u_1/*"},{"Effect":"Allow","Action":"s3:ListBucket","#
                + #""Resource":"arn:aws:s3:::photos","Condition":{"StringLike":{"s3:prefix":"photos/u_1/*"}}}]}"#)
        #expect(
            scopes["upload"]?.policy.text(for: user)
                == #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:PutObject","#
                + #""s3:AbortMultipartUpload","s3:ListMultipartUploadParts"],"#
                + #""Resource":"arn:aws:s3:::photos/photos/u_1/*"}]}"#)
        #expect(scopes["full"]?.writes == true && scopes["upload"]?.writes == true && scopes["read"]?.writes == false)
    }

    @Test(arguments: [
        (
            ObjectStore.aws,
            ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:RestoreObject", "s3:GetObjectAttributes"]
        ),
        (.ceph, ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:RestoreObject"]),
        (.seaweedfs, ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:GetObjectAttributes"]),
    ])
    func `names in the built-in scopes only actions that the store has`(store: ObjectStore, expected: [String]) throws {
        let template = PolicyTemplate(bucket: "photos", partition: "aws", store: store)
        let scopes = try Scopes(template, prefixes: ["photos"], templates: [])
        let policy = try #require(scopes["full"]).policy.text(for: try #require(UserID("u_1")))
        let statement = try JSON(parsing: Array(policy.utf8)).object?["Statement"]?.array?.first?.object
        #expect(
            statement?["Action"]?.strings == expected + ["s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"])
        // Neither in one of the operator's.
        let own = try JSON(
            parsing: Array(Self.policy(Self.objects(#""s3:GetObjectAttributes""#, Self.key("photos/${user}/*"))).utf8))
        guard store == .ceph else { return _ = try template.policy(from: own) }
        #expect(
            throws: SessionPolicyError.actionMissing(
                path: "Statement[0].Action", action: "s3:getobjectattributes", store: .ceph)
        ) { try template.policy(from: own) }
    }

    @Test func `lets read and upload stand within full, and nothing the other way round`() throws {
        let scopes = try Self.scopes()
        let names = scopes.names
        let within = try names.map { wide in
            try names.filter { scopes.covers(try #require(scopes[wide]), try #require(scopes[$0])) }
        }
        #expect(within == [["full", "read", "upload"], ["read"], ["upload"]])
    }

    /// Within the built-in scope of all actions, or not.
    @Test(arguments: [
        (true, objects(#""s3:GetObject""#, key("photos/${user}/*"))),
        (true, objects(#""S3:getobject""#, key("photos/${user}/albums/*.jpg"))),
        (
            true,
            objects(#""s3:GetObject","s3:DeleteObject""#, key("photos/${user}/a?") + "," + key("metadata/${user}/*"))
        ),
        (true, objects(#""s3:GetObject""#, key("photos/${user}/${user}/*"))),
        (
            true,
            objects(
                #""s3:GetObject""#, key("photos/${user}/*"), #","Condition":{"Bool":{"aws:SecureTransport":"true"}}"#)
        ),
        (true, list(#""StringLike":{"S3:prefix":"photos/${user}/albums/*"}"#)),
        (true, list(#""StringEquals":{"s3:prefix":["photos/${user}/a","metadata/${user}/"]}"#)),
        (false, objects(#""s3:GetObject""#, key("other/${user}/*"))),
        (false, objects(#""s3:GetObject""#, key("photos/${user}/*") + "," + key("other/${user}/*"))),
        (false, objects(#""s3:GetObjectVersion""#, key("photos/${user}/*"))),
        (false, list(#""StringLike":{"s3:prefix":"other/${user}/*"}"#)),
        (false, list(#""StringLike":{"s3:prefix":["photos/${user}/*","other/${user}/*"]}"#)),
    ])
    func `tells whether a scope of the operator's lies within another`(expected: Bool, statement: String) throws {
        let scopes = try Self.scopes([("own", Self.policy(statement))])
        #expect(scopes.covers(try #require(scopes["full"]), try #require(scopes["own"])) == expected)
    }

    @Test func `changes the digest with the template, and with nothing else`() throws {
        let first = try #require(try Self.scopes()["full"])
        #expect(first.identity.wholeMatch(of: /full@[0-9a-f]{16}/) != nil)
        #expect(try Self.scopes()["full"]?.digest == first.digest)
        #expect(try Self.scopes(prefixes: ["photos"])["full"]?.digest != first.digest)
        #expect(try Self.scopes()["read"]?.digest != first.digest)
    }

    @Test(arguments: [
        (["photos", "photos/raw"], "photos/raw/", "photos/"), (["a/b/c", "a"], "a/b/c/", "a/"),
        (["", "photos"], "photos/", ""),
    ])
    func `refuses folders of users that one user's id would open`(
        prefixes: [String], folder: String, within: String
    ) throws {
        #expect(throws: Scopes.ScopeError.nested(scope: "full", folder: folder, within: within)) {
            try Self.scopes(prefixes: prefixes)
        }
    }

    @Test(arguments: [["photos", "photos2"], ["a/b", "a/c"], ["photos", "photos/r.w"], [""]])
    func `takes folders that no id can open`(prefixes: [String]) throws {
        _ = try Self.scopes(prefixes: prefixes)
    }

    @Test func `looks for such folders across scopes`() throws {
        let own = Self.policy(Self.objects(#""s3:GetObject""#, Self.key("photos/shared/${user}/*")))
        #expect(throws: Scopes.ScopeError.nested(scope: "own", folder: "photos/shared/", within: "photos/")) {
            try Self.scopes([("own", own)])
        }
    }

    @Test func `names the scope whose template is refused`() throws {
        let own = Self.policy(Self.objects(#""s3:*""#, Self.key("photos/${user}/*")))
        #expect(
            throws: Scopes.ScopeError.policy(
                scope: "own", .actionRefused(path: "Statement[0].Action", action: "s3:*"))
        ) { try Self.scopes([("own", own)]) }
    }

    @Test func `narrows a grant, and never widens it`() throws {
        let scopes = try Self.scopes()
        let full = Grant(scope: try #require(scopes["full"]), lifetime: .seconds(3600), tier: "pro")
        let read = Grant(scope: try #require(scopes["read"]), lifetime: .seconds(1800), tier: "free")
        func ask(_ grant: Grant, _ scope: String?, _ seconds: Int?) -> Result<Grant, GrantRefusal> {
            Result { () throws(GrantRefusal) in
                try grant.narrowed(by: CredentialRequest(scope: scope, lifetimeSeconds: seconds), among: scopes)
            }
        }
        #expect(ask(full, nil, nil) == .success(full))
        #expect(ask(full, "full", 3600) == .success(full))
        #expect(ask(full, "read", 1800) == .success(Grant(scope: read.scope, lifetime: .seconds(1800), tier: "pro")))
        #expect(ask(full, nil, 900) == .success(Grant(scope: full.scope, lifetime: .seconds(900), tier: "pro")))
        for name in ["full", "upload", "", "READ", "read ", "nothing"] {
            #expect(ask(read, name, nil) == .failure(.scope))
        }
        for seconds in [899, 0, -1, Int.min, 3601] {
            #expect(ask(full, nil, seconds) == .failure(.lifetime(possible: 900...3600)))
        }
        for seconds in [1801, Int.max] {
            #expect(ask(read, "read", seconds) == .failure(.lifetime(possible: 900...1800)))
        }
    }
}

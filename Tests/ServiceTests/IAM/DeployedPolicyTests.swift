import CloakroomAWS
import Foundation
import CloakroomJSON
import CloakroomTestSupport
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// The policies in `deploy/iam`, against the scopes that are vended.
struct DeployedPolicyTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../deploy/iam").standardized
    /// Those that are attached to a role or a user; the others are of a resource, or of a service.
    private static let names = [
        "cors-policy", "deny-older-sessions", "deny-user", "doctor-policy", "kms-policy", "lifecycle-policy",
        "release-policy", "release-tag-policy", "revoker-policy", "session-role-policy", "session-role-trust",
        "session-role-trust-sharing", "sharing-policy", "validate-policy", "worker-policy",
    ]
    private static let others = [
        "bucket-policy", "bucket-policy-cdn", "bucket-policy-cdn-chats", "worker-trust-irsa", "worker-trust-service",
    ]
    private static let folders = ["photos", "thumbnails", "metadata", "catalogs"]
    private static let sessionRole = "arn:aws:iam::123456789012:role/cloakroom-app"
    private static let worker = "arn:aws:iam::123456789012:role/worker"
    private static let words = [
        ("PARTITION", "aws"), ("BUCKET", "b"), ("WORKER_ARN", worker), ("SESSION_ROLE_ARN", sessionRole),
        ("USER_ID", "u_1"), ("BEFORE", "2026-11-22T12:00:00Z"), ("TEST_BUCKET", "t"), ("PLACE", ""),
        ("OWN_PREFIX", "assets/"), ("CHAT_PREFIX", "chats/"),
        ("KMS_KEY_ARN", "arn:aws:kms:eu-central-1:123456789012:key/1"), ("REGION", "eu-central-1"),
        ("DNS_SUFFIX", "amazonaws.com"),
    ]
    /// Words of the others, and the one that stands for several values.
    private static let moreWords = [
        "FOLDER", "SERVICE", "OIDC_PROVIDER_ARN", "OIDC_ISSUER", "SERVICE_ACCOUNT", "UPLOAD_MILLISECONDS",
        "DISTRIBUTION_ARN",
    ]

    private static func text(_ name: String) throws -> String {
        try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    }

    /// - Returns: the file's policy; a quoted string with `FOLDER` is there once for each folder.
    static func policy(_ name: String, _ more: [(String, String)] = [], bucket: String = "b") throws -> IAMPolicy {
        let pieces = try text("\(name).json").split(separator: "\"", omittingEmptySubsequences: false)
        var text = pieces.map { piece in
            piece.contains("FOLDER")
                ? folders.map { piece.replacing("FOLDER", with: $0) }.joined(separator: "\", \"") : String(piece)
        }.joined(separator: "\"")
        // The longest first: BUCKET is a part of TEST_BUCKET.
        for (word, meaning) in words.sorted(by: { $0.0.count > $1.0.count }) + more {
            text = text.replacing(word, with: word == "BUCKET" ? bucket : meaning)
        }
        return try IAMPolicy(try JSON(parsing: Array(text.utf8)))
    }

    private static func scopes() throws -> Scopes {
        try Scopes(
            PolicyTemplate(bucket: "b", partition: "aws"), prefixes: folders, templates: [])
    }

    private static func object(_ action: String, _ key: String, tag: String?) -> IAMRequest {
        IAMRequest(action, "arn:aws:s3:::b/\(key)", context: tag.map { ["aws:PrincipalTag/UserId": [$0]] } ?? [:])
    }

    @Test func `are all there, and have no word that nobody knows`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter {
            $0.hasSuffix(".json")
        }
        let names = Self.names + Self.others
        #expect(files.sorted() == names.map { "\($0).json" }.sorted())
        let readme = try Self.text("README.md")
        let module = Self.folder.appending(path: "../terraform")
        let terraform = try FileManager.default.contentsOfDirectory(atPath: module.path)
            .filter { $0.hasSuffix(".tf") }
            .map { try String(contentsOf: module.appending(path: $0), encoding: .utf8) }.joined()
        for name in Self.names { #expect(!(try Self.policy(name)).statements.isEmpty) }
        for name in names {
            #expect(readme.contains("\(name).json") && terraform.contains("\"\(name).json\""))
            for word in try Self.text("\(name).json").matches(of: /\b[A-Z][A-Z_]{2,}\b/).map({ String($0.0) })
            where !["AWS", "REST", "QUERY", "STRING", "POST", "TLS", "CDN"].contains(word) {
                #expect((Self.words.map(\.0) + Self.moreWords).contains(word), "\(word) in \(name)")
                #expect(readme.contains("`\(word)`") && terraform.contains(word), "\(word) in \(name)")
            }
        }
    }

    @Test func `let the worker release images of chats, and delete nothing else`() throws {
        for (name, action, other) in [
            ("release-policy", "s3:DeleteObject", "s3:PutObjectTagging"),
            ("release-tag-policy", "s3:PutObjectTagging", "s3:DeleteObject"),
        ] {
            let policy = try Self.policy(name)
            let needed = ChatAction.needed(action == "s3:DeleteObject" ? .delete : .tag).map(\.rawValue)
            #expect(needed.last == action)
            for allowed in needed {
                #expect(policy.allows(Self.object(allowed, "chats/a.bin", tag: nil)), "\(allowed)")
                for key in ["assets/a.bin", "photos/u_1/a.jpg", "a.bin", "chats"] {
                    #expect(!policy.allows(Self.object(allowed, key, tag: nil)), "\(allowed) \(key)")
                }
            }
            #expect(!policy.allows(Self.object(other, "chats/a.bin", tag: nil)))
        }
        #expect(!(try Self.policy("worker-policy")).allows(Self.object("s3:DeleteObject", "chats/a.bin", tag: nil)))
    }

    /// For all users at once: the tag stands for the user in both.
    @Test func `let the role allow whatever a built-in scope allows`() throws {
        let role = try Self.policy("session-role-policy", [("${aws:PrincipalTag/UserId}", "${user}")])
        let scopes = try Self.scopes()
        for name in scopes.names {
            #expect(role.covers(try #require(scopes[name]).policy.language), "\(name)")
        }
        // And no more than the widest of them: the role is no way around a scope.
        #expect(try #require(scopes["full"]).policy.language.covers(role))
    }

    /// So that a session is refused nothing for the role's sake.
    @Test func `let the role use keys for whatever a scope uses them`() throws {
        let role = try Self.policy("kms-policy")
        let kms = KMSStatement(
            keys: ["arn:aws:kms:eu-central-1:123456789012:key/1"], bucket: "b", partition: "aws",
            region: "eu-central-1")
        let scope = try IAMPolicy([
            "Version": .string(IAMPolicy.version), "Statement": .array([kms.statement(writes: true)]),
        ])
        #expect(role.covers(scope) && scope.covers(role))
        func allows(_ action: String, service: String = "s3.eu-central-1.amazonaws.com", context: String?) -> Bool {
            var fields = ["kms:viaservice": [service]]
            if let context { fields["kms:encryptioncontext:aws:s3:arn"] = [context] }
            return role.allows(IAMRequest(action, "arn:aws:kms:eu-central-1:123456789012:key/1", context: fields))
        }
        for context in ["arn:aws:s3:::b", "arn:aws:s3:::b/photos/u_1/a.jpg"] {
            #expect(allows("kms:Decrypt", context: context) && allows("kms:GenerateDataKey", context: context))
            #expect(!allows("kms:Encrypt", context: context))
            #expect(!allows("kms:Decrypt", service: "sqs.eu-central-1.amazonaws.com", context: context))
        }
        #expect(!allows("kms:Decrypt", context: nil) && !allows("kms:Decrypt", context: "arn:aws:s3:::b2/x"))
    }

    @Test func `let the role allow what a scope allows, asked for single users and keys`() throws {
        let role = try Self.policy("session-role-policy")
        let scopes = try Scopes(
            PolicyTemplate(bucket: "b", partition: "aws"), prefixes: Self.folders, templates: [])
        var allowed = 0
        for name in scopes.names {
            let scope = try #require(scopes[name])
            for id in ["u_1", "u_10", "-", "A", UUID().uuidString] {
                let user = try #require(UserID(id))
                let session = try IAMPolicy(try JSON(parsing: Array(scope.policy.text(for: user).utf8)))
                for prefix in Self.folders + ["other"] {
                    for key in ["\(prefix)/\(id)/a", "\(prefix)/\(id)0/a", "\(prefix)/\(id)"] {
                        for action in ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:RestoreObject"] {
                            let request = Self.object(action, key, tag: id)
                            guard session.allows(request) else { continue }
                            allowed += 1
                            #expect(role.allows(request), "\(action) \(key)")
                        }
                    }
                }
            }
        }
        #expect(allowed == 5 * 4 * (4 + 1 + 1))
    }

    /// What the kit's tiers do with catalogs, photos and thumbnails.
    @Test func `let a session of full read, write, delete and list in each folder of tiers, and in no other user's`()
        throws
    {
        let role = try Self.policy("session-role-policy")
        let user = try #require(UserID("u_1"))
        let scope = try #require(try Self.scopes()["full"])
        let session = try IAMPolicy(try JSON(parsing: Array(scope.policy.text(for: user).utf8)))
        for folder in ["photos", "thumbnails", "catalogs"] {
            for action in ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"] {
                for (id, isAllowed) in [("u_1", true), ("u_2", false)] {
                    let request = Self.object(action, "\(folder)/\(id)/a", tag: "u_1")
                    let both = [role, session].allSatisfy { $0.allows(request) }
                    #expect(both == isAllowed, "\(action) \(folder)/\(id)")
                }
            }
            for (prefix, isAllowed) in [("\(folder)/u_1/", true), ("\(folder)/u_2/", false)] {
                let list = IAMRequest(
                    "s3:ListBucket", "arn:aws:s3:::b",
                    context: ["aws:PrincipalTag/UserId": ["u_1"], "s3:prefix": [prefix]])
                #expect([role, session].allSatisfy { $0.allows(list) } == isAllowed, "\(prefix)")
            }
        }
    }

    @Test(arguments: SeededGenerator.freshSeeds)
    func `let the role keep a session to the folders of its tag, by itself`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let role = try Self.policy("session-role-policy")
        let letters = Array("u_10-Zab/.")
        for _ in 0..<3000 {
            let tag = generator.text(of: letters.dropLast(2), 1...4)
            let key = "photos/" + generator.text(of: letters, 0...6)
            for action in ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"] where !tag.contains("/") {
                let found = role.allows(Self.object(action, key, tag: tag))
                #expect(found == key.hasPrefix("photos/\(tag)/"), "\(tag) \(key)")
            }
        }
        for key in ["photos//a", "photos/u_1/a", "photos/*/a"] {
            #expect(!role.allows(Self.object("s3:GetObject", key, tag: nil)))
        }
        for (prefix, expected) in [("photos/u_1/", true), ("photos/u_1", false), ("photos/u_10/", false), ("", false)] {
            let list = IAMRequest(
                "s3:ListBucket", "arn:aws:s3:::b",
                context: ["aws:PrincipalTag/UserId": ["u_1"], "s3:prefix": [prefix]])
            #expect(role.allows(list) == expected)
        }
        #expect(
            !role.allows(
                IAMRequest("s3:ListBucket", "arn:aws:s3:::b", context: ["aws:PrincipalTag/UserId": ["u_1"]])))
    }

    @Test(
        arguments: [
            (worker, ["UserId": "u_1", "SubscriptionTier": "free"], true),
            ("arn:aws:iam::123456789012:role/other", ["UserId": "u_1", "SubscriptionTier": "free"], false),
            (worker, [:], false), (worker, ["UserId": "u_1"], false), (worker, ["SubscriptionTier": "free"], false),
            (worker, ["UserId": "", "SubscriptionTier": "free"], false),
            (worker, ["UserId": "u_1/../u_2", "SubscriptionTier": "free"], false),
            (worker, ["UserId": "..", "SubscriptionTier": "free"], false),
            (worker, ["UserId": "u 1", "SubscriptionTier": "free"], false),
            (worker, ["UserId": "u_1", "SubscriptionTier": "free", "Admin": "yes"], false),
        ] as [(String, [String: String], Bool)])
    func `let the worker alone open a session, with both tags and no other`(
        principal: String, tags: [String: String], expected: Bool
    ) throws {
        let trust = try Self.policy("session-role-trust")
        var context = ["aws:TagKeys": tags.keys.sorted()]
        for (key, value) in tags { context["aws:RequestTag/\(key)"] = [value] }
        for action in ["sts:AssumeRole", "sts:TagSession"] {
            let request = IAMRequest(action, Self.sessionRole, principal: principal, context: context)
            #expect(trust.allows(request) == expected)
        }
        #expect(!trust.allows(IAMRequest("sts:SetSourceIdentity", Self.sessionRole, principal: principal)))
    }

    @Test(
        arguments: [
            (["Shared1": "u_2"], true), (["Shared1": "u_2", "Shared4": "u_3"], true), ([:], true),
            (["Shared1": "u_2/x"], false), (["Shared3": ".."], false), (["Shared5": "u_2"], false),
            (["Shared2": "u 2"], false),
        ] as [([String: String], Bool)])
    func `let a session have tags of four who share, only where sharing is on`(
        shared: [String: String], expected: Bool
    ) throws {
        let tags = shared.merging(["UserId": "u_1", "SubscriptionTier": "free"]) { $1 }
        var context = ["aws:TagKeys": tags.keys.sorted()]
        for (key, value) in tags { context["aws:RequestTag/\(key)"] = [value] }
        let request = IAMRequest("sts:AssumeRole", Self.sessionRole, principal: Self.worker, context: context)
        #expect(try Self.policy("session-role-trust-sharing").allows(request) == expected)
        #expect(try Self.policy("session-role-trust").allows(request) == shared.isEmpty)
    }

    @Test func `let a session read the folders of those who share, and change nothing there`() throws {
        let policy = try Self.policy("sharing-policy")
        let context = ["aws:PrincipalTag/UserId": ["u_1"], "aws:PrincipalTag/Shared2": ["u_2"]]
        for (action, key, expected) in [
            ("s3:GetObject", "photos/u_2/a", true), ("s3:GetObject", "catalogs/u_2/a", true),
            ("s3:GetObject", "photos/u_20/a", false), ("s3:GetObject", "photos/u_1/a", false),
            ("s3:GetObject", "photos//a", false), ("s3:PutObject", "photos/u_2/a", false),
            ("s3:DeleteObject", "photos/u_2/a", false), ("s3:GetObjectAttributes", "photos/u_2/a", false),
        ] {
            #expect(policy.allows(IAMRequest(action, "arn:aws:s3:::b/\(key)", context: context)) == expected, "\(key)")
        }
        for (prefix, expected) in [("photos/u_2/", true), ("photos/", false), ("photos/u_1/", false)] {
            let list = IAMRequest(
                "s3:ListBucket", "arn:aws:s3:::b", context: context.merging(["s3:prefix": [prefix]]) { $1 })
            #expect(policy.allows(list) == expected, "\(prefix)")
        }
    }

    @Test func `let the worker do its own work, and leave users' folders alone`() throws {
        let policy = try Self.policy("worker-policy")
        for (action, resource, expected) in [
            ("sts:AssumeRole", Self.sessionRole, IAMDecision.allowed), ("sts:TagSession", Self.sessionRole, .allowed),
            ("sts:AssumeRole", "arn:aws:iam::123456789012:role/admin", .notAllowed),
            ("s3:GetObject", "arn:aws:s3:::b/abc.bin", .allowed), ("s3:PutObject", "arn:aws:s3:::b/abc.bin", .allowed),
            ("s3:GetObjectTagging", "arn:aws:s3:::b/abc.bin", .allowed),
            ("s3:PutObjectTagging", "arn:aws:s3:::b/abc.bin", .allowed), ("s3:ListBucket", "arn:aws:s3:::b", .allowed),
            ("s3:AbortMultipartUpload", "arn:aws:s3:::b/abc.bin", .allowed),
            ("s3:ListMultipartUploadParts", "arn:aws:s3:::b/abc.bin", .allowed),
            ("s3:AbortMultipartUpload", "arn:aws:s3:::b/photos/u_1/a", .denied),
            ("s3:DeleteObject", "arn:aws:s3:::b/abc.bin", .notAllowed),
            ("s3:PutObjectAcl", "arn:aws:s3:::b/abc.bin", .notAllowed),
            ("s3:GetObject", "arn:aws:s3:::other/abc.bin", .notAllowed),
            ("s3:PutBucketPolicy", "arn:aws:s3:::b", .notAllowed),
            ("s3:GetObject", "arn:aws:s3:::b/photos/u_1/a", .denied),
            ("s3:PutObject", "arn:aws:s3:::b/metadata/u_1/a", .denied),
            ("s3:AbortMultipartUpload", "arn:aws:s3:::b/abc.bin", .allowed),
            ("s3:ListMultipartUploadParts", "arn:aws:s3:::b/abc.bin", .allowed),
            ("s3:AbortMultipartUpload", "arn:aws:s3:::b/photos/u_1/a", .denied),
            ("s3:PutLifecycleConfiguration", "arn:aws:s3:::b", .notAllowed),
        ] { #expect(policy.decision(on: IAMRequest(action, resource)) == expected, "\(action) \(resource)") }
    }

    @Test func `let the rule be set, and the doctor look, by nobody who can do more with that`() throws {
        let lifecycle = try Self.policy("lifecycle-policy")
        let doctor = try Self.policy("doctor-policy")
        let validate = try Self.policy("validate-policy")
        for (action, sets, looks) in [
            ("s3:GetLifecycleConfiguration", true, true), ("s3:GetBucketVersioning", true, true),
            ("s3:PutLifecycleConfiguration", true, false), ("s3:DeleteBucket", false, false),
            ("s3:PutBucketPolicy", false, false), ("s3:GetBucketAcl", false, true), ("s3:PutBucketAcl", false, false),
            ("s3:GetBucketCORS", false, true), ("s3:PutBucketCORS", false, false),
        ] {
            let request = IAMRequest(action, "arn:aws:s3:::b")
            #expect([lifecycle, doctor, validate].map { $0.allows(request) } == [sets, looks, false], "\(action)")
        }
        for (key, expected) in [
            ("assets/cloakroom-doctor/1", true), ("cloakroom-doctor-outside-1", false), ("a", false),
            ("assets/a", false),
        ] {
            #expect(doctor.allows(Self.object("s3:DeleteObject", key, tag: nil)) == expected)
        }
        for action in ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"] {
            for policy in [lifecycle, validate] { #expect(!policy.allows(Self.object(action, "a", tag: nil))) }
            #expect(validate.allows(IAMRequest(action, "arn:aws:s3:::t/a")))
        }
    }

    @Test func `let the rule for web pages be set, and nothing else`() throws {
        let cors = try Self.policy("cors-policy")
        for (action, expected) in [
            ("s3:GetBucketCORS", true), ("s3:PutBucketCORS", true), ("s3:PutLifecycleConfiguration", false),
            ("s3:ListBucket", false),
        ] { #expect(cors.allows(IAMRequest(action, "arn:aws:s3:::b")) == expected, "\(action)") }
        #expect(!cors.allows(IAMRequest("s3:PutBucketCORS", "arn:aws:s3:::t")))
        #expect(!cors.allows(Self.object("s3:GetObject", "a", tag: nil)))
    }

    @Test func `let who revokes do that to the one role, and the worker not at all`() throws {
        let revoker = try Self.policy("revoker-policy")
        let worker = try Self.policy("worker-policy")
        for action in ["iam:GetRolePolicy", "iam:PutRolePolicy"] {
            #expect(revoker.allows(IAMRequest(action, Self.sessionRole)))
            #expect(!revoker.allows(IAMRequest(action, Self.worker)))
            #expect(!worker.allows(IAMRequest(action, Self.sessionRole)))
        }
        for action in ["iam:DeleteRolePolicy", "iam:AttachRolePolicy", "iam:UpdateAssumeRolePolicy", "sts:AssumeRole"] {
            #expect(!revoker.allows(IAMRequest(action, Self.sessionRole)))
        }
    }

    @Test func `end what one user has, or what is older than a moment, and nothing else`() throws {
        let user = try Self.policy("deny-user")
        let older = try Self.policy("deny-older-sessions")
        for (tag, expected) in [("u_1", IAMDecision.denied), ("u_10", .notAllowed), ("U_1", .notAllowed)] {
            #expect(user.decision(on: Self.object("s3:GetObject", "photos/\(tag)/a", tag: tag)) == expected)
        }
        #expect(user.decision(on: Self.object("s3:GetObject", "photos/u_1/a", tag: nil)) == .notAllowed)
        for (issued, expected) in [
            ("2026-11-22T11:59:59Z", IAMDecision.denied), ("2026-11-22T12:00:00Z", .notAllowed),
        ] {
            let request = IAMRequest("s3:GetObject", "arn:aws:s3:::b/x", context: ["aws:TokenIssueTime": [issued]])
            #expect(older.decision(on: request) == expected)
        }
    }
}

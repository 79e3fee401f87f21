import CloakroomJSON
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct SessionPolicyTests {
    private let template = PolicyTemplate(bucket: "photos", partition: "aws-cn")

    @Test func `gives each user a folder under each prefix`() throws {
        let policy = try template.policy(from: BuiltInScope.full.template(prefixes: ["photos", "a/b"]))
        #expect(
            policy.text(for: try #require(UserID("u_1")))
                == [
                    #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject","s3:PutObject","#,
                    #""s3:DeleteObject","s3:RestoreObject","s3:GetObjectAttributes","s3:AbortMultipartUpload","#,
                    #""s3:ListMultipartUploadParts"],"Resource":["arn:aws-cn:s3:::photos/photos/u_1/*","#,
                    #""arn:aws-cn:s3:::photos/a/b/u_1/*"]},{"Effect":"Allow","Action":"s3:ListBucket","#,
                    #""Resource":"arn:aws-cn:s3:::photos","Condition":{"StringLike":{"s3:prefix":["photos/u_1/*","#,
                    #""a/b/u_1/*"]}}}]}"#,
                ].joined())
    }

    private static let keys = ["1", "mrk-2"].map { "arn:aws-cn:kms:cn-north-1:123456789012:key/\($0)" }
    private let underKeys = PolicyTemplate(
        bucket: "photos", partition: "aws-cn",
        kms: KMSStatement(keys: keys, bucket: "photos", partition: "aws-cn", region: "cn-north-1"))

    /// As AWS documents it: through S3 alone, and for the bucket's objects alone, with a bucket key or without.
    private static func keyStatement(
        action: String = #"["kms:Decrypt","kms:GenerateDataKey"]"#,
        resource: String = #"["arn:aws-cn:kms:cn-north-1:123456789012:key/1","#
            + #""arn:aws-cn:kms:cn-north-1:123456789012:key/mrk-2"]"#,
        service: String = #""kms:ViaService":"s3.cn-north-1.amazonaws.com.cn""#,
        context: String = #""kms:EncryptionContext:aws:s3:arn":["arn:aws-cn:s3:::photos","arn:aws-cn:s3:::photos/*"]"#
    ) -> String {
        #"{"Effect":"Allow","Action":\#(action),"Resource":\#(resource),"#
            + #""Condition":{"StringLike":{\#([service, context].filter { !$0.isEmpty }.joined(separator: ","))}}}"#
    }

    private static func document(_ statements: String...) throws -> JSON {
        try JSON(
            parsing: Array(#"{"Version":"2012-10-17","Statement":[\#(statements.joined(separator: ","))]}"#.utf8))
    }

    @Test func `lets S3 use the keys of a bucket under SSE-KMS, to write only where the scope writes`() throws {
        for (scope, action) in [
            (BuiltInScope.full, #"["kms:Decrypt","kms:GenerateDataKey"]"#), (.read, #""kms:Decrypt""#),
            (.upload, #"["kms:Decrypt","kms:GenerateDataKey"]"#),
        ] {
            let kms = underKeys.kms
            let policy = try underKeys.policy(from: scope.template(prefixes: ["photos"], kms: kms))
            let text = policy.text(for: try #require(UserID("u_1")))
            #expect(text.hasSuffix(",\(Self.keyStatement(action: action))]}"), "\(text)")
            let plain = try template.policy(from: scope.template(prefixes: ["photos"]))
            #expect(policy.packedPercent > plain.packedPercent && plain.packedPercent <= 100)
        }
    }

    /// Or a bucket under SSE-KMS could not be used with the standard folders.
    @Test func `has room for a key beside the standard folders`() throws {
        let kms = KMSStatement(
            keys: ["arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"],
            bucket: "my-assets-bucket", partition: "aws", region: "eu-central-1")
        let template = PolicyTemplate(bucket: "my-assets-bucket", partition: "aws", kms: kms)
        let prefixes = ["photos", "thumbnails", "metadata", "catalogs"]
        let policy = try template.policy(from: BuiltInScope.full.template(prefixes: prefixes, kms: kms))
        #expect((101...PackedSize.uncertainPercent).contains(policy.packedPercent))
        let scopes = try Scopes(template, prefixes: prefixes, templates: [])
        let (full, read) = (try #require(scopes["full"]), try #require(scopes["read"]))
        #expect(scopes.covers(full, read) && !scopes.covers(read, full))
        let simulation = PolicySimulation(
            Grant(scope: full, lifetime: .seconds(900), tier: "free"), user: try #require(UserID("u_1")),
            bucket: "my-assets-bucket", partition: "aws", at: Date())
        #expect(simulation.rows.filter { !$0.isAsExpected }.isEmpty)
    }

    @Test func `takes a template's statement on keys only if it is the built-in one`() throws {
        let objects = #"{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws-cn:s3:::photos/p/${user}/*"}"#
        let one = #""arn:aws-cn:kms:cn-north-1:123456789012:key/1""#
        let good = [
            Self.keyStatement(), Self.keyStatement(action: #"["KMS:GenerateDataKey","kms:Decrypt"]"#),
            Self.keyStatement(action: #""kms:Decrypt""#, resource: one),
            Self.keyStatement(
                context: #""kms:EncryptionContext:aws:s3:arn":["arn:aws-cn:s3:::photos/*","arn:aws-cn:s3:::photos"]"#),
        ]
        for statement in good { _ = try underKeys.policy(from: Self.document(objects, statement)) }
        let bad = [
            Self.keyStatement(action: #""kms:*""#), Self.keyStatement(action: #""kms:GenerateDataKey""#),
            Self.keyStatement(action: #"["kms:Decrypt","s3:GetObject"]"#),
            Self.keyStatement(action: #"["kms:Decrypt","kms:Encrypt"]"#), Self.keyStatement(resource: #""*""#),
            Self.keyStatement(resource: #""arn:aws-cn:kms:cn-north-1:123456789012:key/2""#),
            Self.keyStatement(resource: #""arn:aws-cn:kms:cn-north-1:123456789012:key/*""#),
            Self.keyStatement(service: ""), Self.keyStatement(context: ""),
            Self.keyStatement(service: #""kms:ViaService":"s3.*""#),
            Self.keyStatement(service: #""kms:ViaService":"s3.cn-north-1.amazonaws.com""#),
            Self.keyStatement(context: #""kms:EncryptionContext:aws:s3:arn":"*""#),
            Self.keyStatement(context: #""kms:EncryptionContext:aws:s3:arn":"arn:aws-cn:s3:::photos*""#),
            Self.keyStatement().replacing("StringLike", with: "StringLikeIfExists"),
        ]
        for statement in bad {
            #expect(throws: SessionPolicyError.self, "\(statement)") {
                try underKeys.policy(from: Self.document(objects, statement))
            }
        }
        for statement in good {
            #expect(throws: SessionPolicyError.keysRefused(path: "Statement[1]", expected: nil)) {
                try template.policy(from: Self.document(objects, statement))
            }
        }
    }

    /// The whole of a policy's reach, read back from its text: what starts it and what lies between are plain.
    @Test(arguments: SeededGenerator.freshSeeds)
    func `reaches nothing but the user's own folders, whoever asks`(seed: UInt64) throws {
        let prefixes = ["photos", "thumbnails", "metadata"]
        let policy = try template.policy(from: BuiltInScope.full.template(prefixes: prefixes))
        let alphabet = Array("u_10*?${}aws:username/..\\\"'%+ \n\r\té😀\u{0}ABC-")
        var generator = SeededGenerator(seed: seed)
        let hostile = (0..<2000).map { _ in generator.text(of: alphabet, 0...80) }
        let known = ["u_1", "u_10", "u_1/../u_2", "*", "?", "${aws:username}", "${user}", "\"],\"x\":[\"", "", ".."]
        for subject in hostile + known {
            let user = UserID(issuer: "https://auth.example", subject: subject)
            let text = policy.text(for: user)
            #expect(text.count <= SessionPolicy.maximumLength)
            let statements = try JSON(parsing: Array(text.utf8)).object?["Statement"]?.array ?? []
            let folders = prefixes.map { "\($0)/\(user.text)/*" }
            #expect(statements.count == 2)
            #expect(statements.first?.object?["Resource"]?.strings == folders.map { "arn:aws-cn:s3:::photos/\($0)" })
            let condition = statements.last?.object?["Condition"]?.object
            #expect(condition?["StringLike"]?.object?["s3:prefix"]?.strings == folders)
            #expect(user.text.wholeMatch(of: /[A-Za-z0-9_-]{1,64}/) != nil)
        }
    }

    private static func statement(
        action: String = #""s3:GetObject""#, resource: String = #""arn:aws-cn:s3:::photos/p/${user}/*""#,
        more: String = "", version: String = "2012-10-17"
    ) -> String {
        #"{"Version":"\#(version)","Statement":[{"Effect":"Allow","Action":\#(action),"Resource":\#(resource)\#(more)}]}"#
    }

    private static func list(_ condition: String, resource: String = #""arn:aws-cn:s3:::photos""#) -> String {
        statement(action: #""s3:ListBucket""#, resource: resource, more: #","Condition":\#(condition)"#)
    }

    @Test(arguments: [
        statement(),
        statement(action: #"["S3:PUTOBJECT","s3:GetObjectVersion"]"#),
        statement(
            resource: #"["arn:${partition}:s3:::${bucket}/${user}/*","arn:aws-cn:s3:::photos/a/b/${user}/c/?x"]"#),
        statement(more: #","Condition":{"Bool":{"aws:SecureTransport":"true"}}"#),
        list(#"{"StringLike":{"s3:prefix":["p/${user}/*","${user}/"]}}"#),
        list(#"{"StringEquals":{"S3:Prefix":"p/${user}/"},"NumericLessThan":{"s3:max-keys":"10"}}"#),
    ])
    func `takes a template that keeps to the user's folder`(text: String) throws {
        _ = try template.policy(from: try JSON(parsing: Array(text.utf8)))
    }

    @Test(arguments: [
        "[]", "{}", #"{"Version":"2012-10-17","Statement":[]}"#,
        statement(version: "2008-10-17"),
        statement(action: #""*""#), statement(action: #""s3:*""#), statement(action: #""s3:Get*""#),
        statement(action: #""s3:PutObjectAcl""#), statement(action: #""s3:PutBucketPolicy""#),
        statement(action: #""sts:AssumeRole""#), statement(action: #"["s3:GetObject","s3:ListBucket"]"#),
        statement(action: "[]"), statement(action: "7"),
        statement(resource: #""*""#), statement(resource: #""arn:aws-cn:s3:::photos/*""#),
        statement(resource: #""arn:aws-cn:s3:::photos/p/${user}*""#),
        statement(resource: #""arn:aws-cn:s3:::photos/p/${user}""#),
        statement(resource: #""arn:aws-cn:s3:::photos/p/${user}*/x""#),
        statement(resource: #""arn:aws-cn:s3:::photos/p/${user}*/*""#),
        statement(resource: #""arn:aws-cn:s3:::photos/p/*${user}/x""#),
        statement(resource: #""arn:aws-cn:s3:::photos/*/${user}/*""#),
        statement(resource: #""arn:aws-cn:s3:::photos/p?/${user}/*""#),
        statement(resource: #""arn:aws-cn:s3:::photos/x${user}/*""#),
        statement(resource: #""arn:aws-cn:s3:::photos/${aws:username}/${user}/*""#),
        statement(resource: #""arn:aws-cn:s3:::photos/p/${user}/${aws:username}/*""#),
        statement(resource: #""arn:aws-cn:s3:::other/p/${user}/*""#),
        statement(resource: #""arn:aws-cn:s3:::photos*/p/${user}/*""#),
        statement(resource: #""arn:aws:s3:::photos/p/${user}/*""#),
        statement(resource: #""arn:aws-cn:s3:::photos/../${user}/*""#),
        statement(resource: #""arn:aws-cn:s3:::photos//${user}/*""#),
        statement(resource: #""arn:aws-cn:s3:::photos/é/${user}/*""#),
        statement(resource: #"["arn:aws-cn:s3:::photos/p/${user}/*","arn:aws-cn:s3:::photos/q/*"]"#),
        statement(more: #","NotAction":"s3:GetObject""#), statement(more: #","NotResource":"a""#),
        statement(more: #","Principal":"*""#), statement(more: #","Condition":{"StringLikee":{"a":"b"}}"#),
        statement(more: #","Condition":{"Bool":{}}"#),
        statement(more: #","Condition":{"StringLike":{"aws:PrincipalTag/x":"${user}"}}"#),
        statement(more: #","Condition":{"StringLike":{"aws:PrincipalTag/${user}":"x"}}"#),
        statement().replacing("Allow", with: "Deny"),
        list("{}"), list(#"{"StringLike":{"s3:prefix":"*"}}"#),
        list(#"{"StringLike":{"s3:prefix":["p/${user}/*",""]}}"#),
        list(#"{"StringLike":{"s3:prefix":"p/${user}*/x"}}"#),
        list(#"{"StringLikeIfExists":{"s3:prefix":"p/${user}/*"}}"#),
        list(#"{"ForAllValues:StringLike":{"s3:prefix":"p/${user}/*"}}"#),
        list(#"{"StringNotLike":{"s3:prefix":"p/${user}/*"}}"#),
        list(#"{"StringLike":{"s3:delimiter":"/"}}"#),
        list(#"{"StringLike":{"s3:prefix":"p/${user}/*"}}"#, resource: #""arn:aws-cn:s3:::photos/*""#),
        list(#"{"StringLike":{"s3:prefix":"p/${user}/*"}}"#, resource: #""*""#),
        statement(action: #""s3:ListBucket""#, resource: #""arn:aws-cn:s3:::photos""#),
        statement(resource: #""arn:aws-cn:s3:::photos/\#(String(repeating: "p", count: 1900))/${user}/*""#),
    ])
    func `refuses a template that could reach further, or is none`(text: String) throws {
        let json = try JSON(parsing: Array(text.utf8))
        #expect(throws: SessionPolicyError.self) { try template.policy(from: json) }
    }
}

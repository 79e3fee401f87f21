import CloakroomHTTP
import CloakroomLoop
import Foundation

@testable import CloakroomOperations
@testable import CloakroomScriptedS3

/// S3: the scripted one of the tests, which the adapter tests hold against others, with sessions of the modelled STS.
@LoopActor
final class ObjectStore {
    enum Outcome {
        case response(S3Reply)
        /// The connection ended before the response was whole.
        case broken
        /// There is no response, however long one waits.
        case silence
    }

    static let bucket = "photos"
    /// When images of chats end that are not released.
    static let chatDays = 30
    static let account = "000000000000"
    static let worker = ScriptedIdentity(accessKeyID: "AKIDWORKER", secretAccessKey: "worker-secret")
    let s3: ScriptedS3
    private let tokens: SecurityTokens

    init(_ tokens: SecurityTokens, retentionDays: Int) throws {
        self.tokens = tokens
        var options = ScriptedS3.Options()
        options.bucket = Self.bucket
        options.identity = Self.worker
        options.keepsRequests = false
        s3 = try ScriptedS3(options)
        Finding.require(
            s3.lifecycle(
                """
                <LifecycleConfiguration><Rule><ID>assets</ID><Filter><Prefix>assets/</Prefix></Filter>\
                <Status>Enabled</Status><Expiration><Days>\(Plant.current == .imagesExpireEarly ? 1 : retentionDays)</Days></Expiration></Rule>\
                <Rule><ID>chats</ID><Filter><Prefix>chats/</Prefix></Filter><Status>Enabled</Status>\
                <Expiration><Days>\(Self.chatDays)</Days></Expiration></Rule></LifecycleConfiguration>
                """), "the bucket takes no lifecycle rule")
    }

    func answer(_ method: String, _ target: String, _ fields: [(name: String, value: String)], _ body: [UInt8])
        -> Outcome
    {
        let request = S3Request(
            method: method, target: target, fields: fields.map { .init(name: $0.name.lowercased(), value: $0.value) },
            body: body)
        let key = Self.accessKeyID(request)
        var identities = [Self.worker]
        if let key, let session = tokens.session(of: key) {
            var identity = ScriptedIdentity(accessKeyID: key, secretAccessKey: session.secret)
            identity.sessionToken = session.token
            identity.isExpired = session.end <= Date()
            identities.append(identity)
            if !identity.isExpired, !allows(session, request) {
                return .response(S3Error.accessDenied.reply(requestID: "R"))
            }
        }
        s3.identities { $0 = identities }
        var reply = s3.answer(request)
        if Plant.current == .listingIsShort { Self.shorten(&reply) }
        if Plant.current == .photoIsNotStored, method == "PUT", let key = request.key, key.hasPrefix("photos/") {
            s3.remove(key)
        }
        switch reply.delivery {
        case .whole: return .response(reply)
        case .half, .reset: return .broken
        case .silence: return .silence
        }
    }

    private static func shorten(_ reply: inout S3Reply) {
        let text = String(decoding: reply.body, as: UTF8.self)
        guard let start = text.range(of: "<Contents>", options: .backwards)?.lowerBound,
            let end = text.range(of: "</Contents>", options: .backwards)?.upperBound
        else { return }
        reply.body = Array((text[..<start] + text[end...]).utf8)
    }

    /// Of the header field, or of a presigned URL.
    private static func accessKeyID(_ request: S3Request) -> String? {
        let scope =
            request.parameter("X-Amz-Credential")
            ?? request.field("authorization").flatMap { field in
                field.firstRange(of: "Credential=").map { String(field[$0.upperBound...]) }
            }
        return scope?.split(separator: "/").first.map(String.init)
    }

    private func allows(_ session: SecurityTokens.Session, _ request: S3Request) -> Bool {
        guard let action = Self.action(request) else { return false }
        let bucket = "arn:aws:s3:::\(Self.bucket)"
        let isOfBucket = action.hasPrefix("s3:List") && action != "s3:ListMultipartUploadParts"
        let prefix = request.parameter("prefix")
        return session.policy.allows(
            IAMRequest(
                action, isOfBucket ? bucket : "\(bucket)/\(request.key ?? "")",
                context: prefix.map { ["s3:prefix": [$0]] } ?? [:]))
    }

    /// Source: Service Authorization Reference, "Actions, resources, and condition keys for Amazon S3".
    private static func action(_ request: S3Request) -> String? {
        switch (request.method, request.key) {
        case ("GET", nil): request.has("uploads") ? "s3:ListBucketMultipartUploads" : "s3:ListBucket"
        case ("GET", _): request.has("uploadId") ? "s3:ListMultipartUploadParts" : "s3:GetObject"
        case ("HEAD", nil): "s3:ListBucket"
        case ("HEAD", _): "s3:GetObject"
        case ("PUT", .some), ("POST", .some): "s3:PutObject"
        case ("DELETE", .some): request.has("uploadId") ? "s3:AbortMultipartUpload" : "s3:DeleteObject"
        default: nil
        }
    }
}

package import CloakroomAWS
import CloakroomCrypto
import CloakroomWire
package import CloakroomLoop

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Hands out leave to upload one new object.
@LoopActor
package final class Uploader {
    let rules: UploadRules
    /// `nil` without a key that seals the ids.
    let multipart: MultipartUploads?
    /// `nil` where Companion's wire is off.
    let companion: CompanionUploads?
    private let s3: S3Client
    private let lifetime: Duration
    private let names: AssetNames
    /// `nil` where there are no images of chats.
    private let chatNames: ChatNames?

    /// - Parameters:
    ///   - bucketURL: where objects are read when the settings name no other place.
    ///   - companionBucket: the bucket's name for Companion's wire; `nil` where that is off.
    ///   - releaseTokens: for images of chats; `nil` where the settings have none.
    ///   - requestDeadline: of requests to S3.
    package init(
        s3: S3Client, settings: Settings.Uploads, bucketURL: String, companionBucket: String? = nil,
        releaseTokens: ReleaseTokens? = nil, requestDeadline: Duration,
        now: @escaping @Sendable () -> Date = { Date() },
        randomBytes: @escaping @Sendable (Int) -> [UInt8] = CloakroomCrypto.randomBytes
    ) {
        self.s3 = s3
        lifetime = settings.lifetime
        let rules = UploadRules(settings)
        self.rules = rules
        let names = AssetNames(
            keyPrefix: settings.keyPrefix, baseURL: settings.assetBaseURL ?? bucketURL, randomBytes: randomBytes)
        self.names = names
        let chatNames = settings.chat.flatMap { chat in
            releaseTokens.map { ChatNames(names.under(chat.keyPrefix), $0) }
        }
        self.chatNames = chatNames
        multipart =
            settings.idKeys.isEmpty
            ? nil
            : MultipartUploads(
                s3: s3, settings: settings, names: names, chatNames: chatNames, requestDeadline: requestDeadline,
                now: now)
        companion =
            settings.idKeys.isEmpty
            ? nil
            : companionBucket.map {
                CompanionUploads(
                    s3: s3, bucket: $0, settings: settings, names: names, rules: rules,
                    requestDeadline: requestDeadline, now: now)
            }
    }

    /// By PUT.
    func upload(_ request: PutUploadParameters, for user: UserID) async throws(AWSError) -> UploadBody {
        let (asset, releaseToken) = try names.next(for: request.purpose, of: user, chat: chatNames)
        let terms = UploadTerms(
            contentType: request.contentType, byteCount: request.contentLength, checksum: request.checksum,
            createsOnly: true, lifetime: lifetime)
        let presigned = try await s3.presignUpload(asset.object, terms: terms)
        return UploadBody(
            objectKey: asset.key, uploadUrl: presigned.url.reveal(), assetUrl: asset.url,
            expiresAt: presigned.expiration,
            headers: Dictionary(presigned.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }),
            releaseToken: releaseToken)
    }

    /// As a form.
    func upload(_ request: PostUploadParameters, for user: UserID) async throws(AWSError) -> PostUploadBody {
        let (asset, releaseToken) = try names.next(for: request.purpose, of: user, chat: chatNames)
        let terms = PostTerms(
            contentType: request.contentType, byteCounts: 1...request.maximumBytes, checksum: request.checksum,
            lifetime: lifetime)
        let presigned = try await s3.presignPost(key: asset.key, terms: terms)
        return PostUploadBody(
            objectKey: asset.key, uploadUrl: presigned.url,
            fields: Dictionary(
                presigned.fields.map { ($0.name, $0.value.reveal()) }, uniquingKeysWith: { first, _ in first }),
            assetUrl: asset.url, maximumBytes: request.maximumBytes, expiresAt: presigned.expiration,
            releaseToken: releaseToken)
    }
}

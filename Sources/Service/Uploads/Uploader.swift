package import AWS
import CloakroomCrypto
package import CloakroomWire
package import Loop

/// Hands out leave to upload one new object.
@LoopActor
package final class Uploader {
    private let s3: S3Client
    private let settings: Settings.Uploads
    private let assetBaseURL: String
    private let randomBytes: @Sendable (Int) -> [UInt8]

    /// - Parameter bucketURL: where objects are read when the settings name no other place.
    package init(
        s3: S3Client, settings: Settings.Uploads, bucketURL: String,
        randomBytes: @escaping @Sendable (Int) -> [UInt8] = CloakroomCrypto.randomBytes
    ) {
        self.s3 = s3
        self.settings = settings
        self.randomBytes = randomBytes
        assetBaseURL = settings.assetBaseURL ?? bucketURL
    }

    package func upload(_ request: UploadRequest) async throws(Fault) -> UploadBody {
        // 128 random bits and one ending for all: nothing in the name tells what the object is, or whose.
        let key = settings.keyPrefix + randomBytes(16).hexadecimal + ".bin"
        guard let object = ObjectAddress(key: key) else { throw Fault(.refused, code: "InvalidKey") }
        let terms = UploadTerms(
            contentType: request.contentType, byteCount: request.contentLength, checksum: request.checksum,
            createsOnly: true, lifetime: settings.lifetime)
        let presigned = try await s3.presignUpload(object, terms: terms)
        return UploadBody(
            objectKey: key, uploadUrl: presigned.url.reveal(), assetUrl: "\(assetBaseURL)/\(object.encodedKey)",
            expiresAt: presigned.expiration,
            headers: Dictionary(presigned.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }))
    }
}

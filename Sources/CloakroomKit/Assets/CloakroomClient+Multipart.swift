import CloakroomCrypto
import CloakroomWire
public import Foundation

extension CloakroomClient {
    /// In bytes (Amazon S3 User Guide, "Multipart upload limits").
    private static let partSizes = 1...5 << 30

    /// Begins a multipart upload, for large objects.
    ///
    /// It is not retried when its outcome is unknown: call it again. The bucket's lifecycle rules remove abandoned
    /// uploads.
    /// - Parameters:
    ///   - byteCount: of the whole object.
    ///   - sha256: of the whole object, 32 bytes; kept with it, and not checked by S3.
    ///   - purpose: `nil` for an object that is kept as all others.
    /// - Throws: ``CloakroomError``, as for ``requestUpload(contentType:byteCount:)``; `notFound` where the operator has
    ///   not set up multipart uploads.
    public func beginMultipartUpload(
        contentType: String, byteCount: Int64, sha256: Data? = nil, purpose: AssetPurpose? = nil
    ) async throws -> MultipartAssetUpload {
        let requestBody = MultipartUploadRequest(
            contentType: contentType, contentLength: Int(byteCount), sha256: sha256?.hexadecimal,
            purpose: purpose?.wire)
        let response = try await httpClient.response(
            to: WorkerRequest(route: .multipartUploads, body: requestBody.encoded, isRepeatable: false))
        let body: MultipartUploadBody = try Self.read(response)
        guard let asset = Self.address(body.assetUrl), Self.partSizes.contains(body.partBytes),
            (1...10_000).contains(body.partCount)
        else {
            throw CloakroomError.invalidResponse(response)
        }
        guard purpose == nil || body.releaseToken != nil else { throw CloakroomError.noReleaseToken }
        return MultipartAssetUpload(
            id: body.uploadId, objectKey: body.objectKey, assetURL: asset, partByteCount: Int64(body.partBytes),
            partCount: body.partCount, expiration: body.expiresAt, releaseToken: body.releaseToken)
    }

    /// Where some of the parts go.
    ///
    /// - Parameter numbers: at most 100 of them, within 1…``MultipartAssetUpload/partCount``.
    /// - Throws: ``CloakroomError``: `uploadNotFound` for an id that is not the user's, or has ended.
    public func multipartUploadParts(of id: String, numbers: ClosedRange<Int>) async throws -> [AssetPart] {
        let response = try await httpClient.response(
            to: WorkerRequest(
                route: .multipartParts, id: id,
                query: [("numbers", "\(numbers.lowerBound)-\(numbers.upperBound)")]))
        let body: MultipartPartsBody = try Self.read(response)
        return try body.parts.map { part in
            guard let url = Self.address(part.uploadUrl), numbers.contains(part.partNumber),
                part.contentLength == 0 || Self.partSizes.contains(part.contentLength)
            else { throw CloakroomError.invalidResponse(response) }
            return AssetPart(
                number: part.partNumber, uploadURL: url, byteCount: Int64(part.contentLength),
                expiration: body.expiresAt)
        }
    }

    /// Makes the parts one object; repeating it does no harm.
    ///
    /// - Parameter etags: of all parts in their order, as in S3's responses; `nil`: as S3 lists them.
    /// - Throws: ``CloakroomError``: `uploadIncomplete` when a part is missing or not as it was to be, `uploadNotFound`.
    public func completeMultipartUpload(id: String, etags: [String]? = nil) async throws -> UploadedAsset {
        let requestBody = CompletionRequest(etags: etags)
        let response = try await httpClient.response(
            to: WorkerRequest(route: .multipartCompletion, id: id, body: etags == nil ? nil : requestBody.encoded))
        let body: UploadedBody = try Self.read(response)
        guard let asset = body.assetUrl.flatMap(Self.address) else { throw CloakroomError.invalidResponse(response) }
        return UploadedAsset(objectKey: body.objectKey, assetURL: asset)
    }

    /// Aborts an upload and deletes its parts.
    ///
    /// - Throws: ``CloakroomError``: `uploadNotFound` when there is none, perhaps because an earlier attempt aborted it.
    public func abortMultipartUpload(id: String) async throws {
        let _: UploadedBody = try await body(of: WorkerRequest(route: .multipartUpload, id: id))
    }
}

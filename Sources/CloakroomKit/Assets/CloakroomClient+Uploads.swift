import CloakroomAWS
import CloakroomCrypto
import CloakroomWire
public import Foundation

extension CloakroomClient: PresignedUploader {
    public func requestUpload(contentType: String, byteCount: Int64?) async throws -> UploadTarget {
        try await requestUpload(contentType: contentType, byteCount: byteCount, filename: nil, sha256: nil)
    }

    public func requestChatUpload(contentType: String, byteCount: Int64?) async throws -> UploadTarget {
        try await requestUpload(
            contentType: contentType, byteCount: byteCount, filename: nil, sha256: nil, purpose: .chat)
    }

    /// A destination for one new object, by PUT.
    ///
    /// - Parameters:
    ///   - byteCount: of the object, exactly; S3 refuses any other.
    ///   - filename: for backends that want one; the worker does not use it.
    ///   - sha256: of the object, 32 bytes; S3 refuses any other.
    ///   - purpose: `nil` for an object that is kept as all others.
    /// - Throws: ``CloakroomError``: `contentTypeNotAllowed`, `invalidRequest` for a length that is not allowed,
    ///   `subscriptionRequired`, `storageQuotaExceeded`, `userDisabled`, `chatNotEnabled`.
    public func requestUpload(
        contentType: String, byteCount: Int64?, filename: String?, sha256: Data?, purpose: AssetPurpose? = nil
    ) async throws -> UploadTarget {
        var query = [(name: "contentType", value: contentType), ("filename", filename ?? anyFilename)]
        if let byteCount { query.append(("contentLength", String(byteCount))) }
        if let sha256 { query.append(("sha256", sha256.hexadecimal)) }
        if let purpose { query.append(("purpose", purpose.wire.rawValue)) }
        let response = try await httpClient.response(to: WorkerRequest(route: .presignedUpload, query: query))
        let body: ReceivedUploadBody = try Self.read(response)
        guard let upload = Self.address(body.uploadUrl), let asset = (body.assetUrl ?? body.url).flatMap(Self.address),
            !body.objectKey.isEmpty
        else { throw CloakroomError.invalidResponse(response) }
        guard purpose == nil || body.releaseToken != nil else { throw CloakroomError.noReleaseToken }
        var fields = body.headers ?? [:]
        if !fields.keys.contains(where: { $0.caseInsensitiveCompare("Content-Type") == .orderedSame }) {
            fields["Content-Type"] = contentType
        }
        return UploadTarget(
            objectKey: body.objectKey, uploadURL: upload, assetURL: asset, expiration: body.expiresAt, fields: fields,
            releaseToken: body.releaseToken)
    }

    /// A form that uploads one new object, for clients that can send forms only.
    ///
    /// - Parameters:
    ///   - maximumBytes: the most that will be sent; `nil` for what the worker allows.
    ///   - sha256: of the object, 32 bytes; S3 refuses any other.
    ///   - purpose: `nil` for an object that is kept as all others.
    /// - Throws: ``CloakroomError``, as for a PUT.
    public func requestFormUpload(
        contentType: String, maximumBytes: Int64? = nil, sha256: Data? = nil, purpose: AssetPurpose? = nil
    ) async throws -> FormUploadTarget {
        let requestBody = PostUploadRequest(
            contentType: contentType, maximumBytes: maximumBytes.map(Int.init), sha256: sha256?.hexadecimal,
            purpose: purpose?.wire)
        let response = try await httpClient.response(
            to: WorkerRequest(route: .presignedPost, body: requestBody.encoded))
        let body: PostUploadBody = try Self.read(response)
        guard let upload = Self.address(body.uploadUrl), let asset = Self.address(body.assetUrl) else {
            throw CloakroomError.invalidResponse(response)
        }
        guard purpose == nil || body.releaseToken != nil else { throw CloakroomError.noReleaseToken }
        return FormUploadTarget(
            objectKey: body.objectKey, uploadURL: upload, fields: body.fields, assetURL: asset,
            maximumBytes: Int64(body.maximumBytes), expiration: body.expiresAt, releaseToken: body.releaseToken)
    }

    public func upload(_ body: HTTPBody, to target: UploadTarget) async throws {
        try await upload(body, to: target, progress: nil)
    }

    /// Uploads to a destination issued before; the bytes of a file are sent as they are read.
    ///
    /// - Parameter progress: called with how many bytes the current attempt has sent, from any thread.
    public func upload(
        _ body: HTTPBody, to target: UploadTarget, progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws {
        try await PresignedPut(target: target, body: body, httpClient: httpClient).run(progress: progress) {
            try await target.isStored(by: self)
        }
    }

    /// A random name: the shipped backend requires one, and the user's own should not leave the device.
    private var anyFilename: String {
        let number = httpClient.runtime.randomNumber()
        return String(number, radix: 16) + ".bin"
    }

    static func address(_ text: String) -> URL? {
        guard let url = URL(string: text), let scheme = url.scheme, ["https", "http"].contains(scheme),
            url.host?.isEmpty == false
        else { return nil }
        return url
    }
}

import CloakroomAWS
import CloakroomCrypto
import CloakroomKit
import CloakroomWire
import Foundation

// Uploads of assets.
extension ServerState {
    /// Every part but the last has so many bytes.
    private static let partBytes = 5 << 20
    private static let byteCounts = 1...5_368_709_120

    mutating func presign(_ call: ServerCall) throws(WorkerRefusal) -> HTTPResponse {
        let user = try authenticate(call)
        try checkHasRoom(user)
        guard let contentType = call.query["contentType"], !contentType.isEmpty else {
            throw WorkerRefusal(.invalidRequest, "contentType is missing")
        }
        var fields = ["content-type": contentType]
        var byteCount: Int?
        if let text = call.query["contentLength"] {
            guard let count = Int(text), Self.byteCounts.contains(count) else {
                throw WorkerRefusal(.invalidRequest, "contentLength must be a number of bytes from 1 to 5368709120")
            }
            byteCount = count
            fields["content-length"] = text
        }
        if let text = call.query["sha256"] {
            guard let sum = [UInt8](hexadecimal: text.utf8), sum.count == 32 else {
                throw WorkerRefusal(.invalidRequest, "sha256 must be a SHA-256 in hexadecimal or base64")
            }
            fields["x-amz-checksum-sha256"] = Data(sum).base64EncodedString()
        }
        let key = newKey(call.query["purpose"])
        let expiration = date(after: options.uploadURLLifetime)
        let url = grant(
            Grant(
                key: key, fields: fields.filter { $0.key != "content-length" }, byteCount: byteCount,
                expiration: expiration), query: "If-None-Match=%2A&")
        return Self.json(
            UploadBody(
                objectKey: key, uploadUrl: url, assetUrl: assetURL(key), expiresAt: expiration, headers: fields,
                releaseToken: try releaseToken(call.query["purpose"], key, user)))
    }

    mutating func beginUpload(_ call: ServerCall) throws(WorkerRefusal) -> HTTPResponse {
        let user = try authenticate(call)
        try checkHasRoom(user)
        let request: MultipartUploadRequest
        do throws(UploadRequestError) { request = try MultipartUploadRequest(parsing: Array(call.body)) } catch {
            throw WorkerRefusal(.invalidRequest, "Invalid request body")
        }
        guard let contentType = request.contentType, let byteCount = request.contentLength,
            Self.byteCounts.contains(byteCount)
        else { throw WorkerRefusal(.invalidRequest, "contentType and contentLength are needed") }
        let key = newKey(request.purpose)
        let uploadID = "upload-\(digits().prefix(16))"
        uploads[uploadID] = Upload(key: key, fields: ["content-type": contentType])
        let id = "assets-\(digits().prefix(16))"
        let upload = AssetUpload(user: user, key: key, uploadID: uploadID, byteCount: byteCount)
        assetUploads[id] = upload
        return Self.json(
            MultipartUploadBody(
                uploadId: id, objectKey: key, assetUrl: assetURL(key), partBytes: Self.partBytes,
                partCount: upload.partCount, expiresAt: date(after: .seconds(86_400)),
                releaseToken: try releaseToken(request.purpose, key, user)))
    }

    mutating func presignParts(_ call: ServerCall) throws(WorkerRefusal) -> HTTPResponse {
        let upload = try assetUpload(call).upload
        let bounds = (call.query["numbers"] ?? "").split(separator: "-").compactMap { Int($0) }
        guard let first = bounds.first, let last = bounds.last, bounds.count <= 2, 1 <= first, first <= last,
            last <= upload.partCount, last - first < WireLimits.maximumPartsPerRequest
        else { throw WorkerRefusal(.invalidRequest, "numbers must be of 1 to 100 parts of the upload") }
        let expiration = date(after: options.uploadURLLifetime)
        let parts = (first...last).map { number in
            let count = min(Self.partBytes, upload.byteCount - (number - 1) * Self.partBytes)
            let url = grant(
                Grant(
                    key: upload.key, uploadID: upload.uploadID, partNumber: number, fields: [:], byteCount: count,
                    expiration: expiration), query: "partNumber=\(number)&uploadId=\(upload.uploadID)&")
            return MultipartPartsBody.Part(partNumber: number, uploadUrl: url, contentLength: count)
        }
        return Self.json(
            MultipartPartsBody(
                parts: parts, partBytes: Self.partBytes, partCount: upload.partCount, expiresAt: expiration))
    }

    mutating func completeUpload(_ call: ServerCall) throws(WorkerRefusal) -> HTTPResponse {
        let (id, upload) = try assetUpload(call)
        let body = UploadedBody(objectKey: upload.key, assetUrl: assetURL(upload.key))
        if upload.isComplete { return Self.json(body) }
        let request: CompletionRequest
        do throws(UploadRequestError) { request = try CompletionRequest(parsing: Array(call.body)) } catch {
            throw WorkerRefusal(.invalidRequest, "Invalid request body")
        }
        let parts = uploads[upload.uploadID]?.parts ?? [:]
        let tags = (1...upload.partCount).map { parts[$0].map(Self.entityTag) }
        let sent = request.etags.map { $0.map { "\"\($0.filter { $0 != "\"" })\"" } }
        guard !tags.contains(nil), sent == nil || sent == tags.compactMap(\.self) else {
            throw WorkerRefusal(.uploadIncomplete, "Parts are missing, or not as they were to be")
        }
        assemble(upload.uploadID, numbers: Array(1...upload.partCount))
        assetUploads[id]?.isComplete = true
        return Self.json(body)
    }

    mutating func abortUpload(_ call: ServerCall) throws(WorkerRefusal) -> HTTPResponse {
        let (id, upload) = try assetUpload(call)
        uploads[upload.uploadID] = nil
        assetUploads[id] = nil
        return Self.json(UploadedBody(objectKey: upload.key, assetUrl: nil))
    }

    private func assetUpload(_ call: ServerCall) throws(WorkerRefusal) -> (id: String, upload: AssetUpload) {
        let user = try authenticate(call)
        guard let id = call.id, let upload = assetUploads[id], upload.user == user else {
            throw WorkerRefusal(.uploadNotFound, "There is no such upload")
        }
        return (id, upload)
    }

    private mutating func newKey(_ purpose: String?) -> String {
        (purpose == nil ? "" : Self.chatPrefix) + "\(digits().prefix(32)).bin"
    }

    private func assetURL(_ key: String) -> String { assetBaseURL.appendingPathComponent(key).absoluteString }

    /// - Returns: the presigned URL.
    private mutating func grant(_ grant: Grant, query: String) -> String {
        let signature = digits()
        grants[signature] = grant
        let time = Timestamp(now)
        return "\(endpoint.absoluteString)/\(options.bucket)/\(grant.key)?\(query)X-Amz-Algorithm=AWS4-HMAC-SHA256"
            + "&X-Amz-Credential=worker%2F\(time.day)%2F\(options.region)%2Fs3%2Faws4_request&X-Amz-Date=\(time.basic)"
            + "&X-Amz-Expires=\(options.uploadURLLifetime.components.seconds)&X-Amz-SignedHeaders=host"
            + "&X-Amz-Signature=\(signature)"
    }
}

extension ServerState.AssetUpload {
    var partCount: Int { (byteCount - 1) / (5 << 20) + 1 }
}

// MARK: Renewals and releases

extension ServerState {
    mutating func renew(_ call: ServerCall) throws(WorkerRefusal) -> HTTPResponse {
        _ = try authenticate(call)
        do throws(RenewRequestError) {
            if call.request.method == "PUT" {
                return Self.json(renewed(try RenewOneRequest(parsing: Array(call.body)).assetKey))
            }
            let keys = try RenewBatchRequest(parsing: Array(call.body)).assetKeys
            var results: [RenewResult] = []
            for key in keys { results.append(renewed(key)) }
            return Self.json(RenewBatchBody(results: results))
        } catch {
            throw WorkerRefusal(.invalidRequest, error.rawValue)
        }
    }

    private mutating func renewed(_ key: String) -> RenewResult {
        guard (1...WireLimits.maximumKeyBytes).contains(key.utf8.count) else {
            return RenewResult(key: key, failure: .invalidKey)
        }
        guard Self.isAsset(key), !key.hasPrefix(Self.chatPrefix) else {
            return RenewResult(key: key, failure: .forbidden)
        }
        guard objects[key] != nil else { return RenewResult(key: key, failure: .notFound) }
        let renewal = now
        objects[key]?.lastModified = renewal
        return RenewResult(key: key, renewedUntil: date(after: options.assetRetention))
    }

    private mutating func releaseToken(
        _ purpose: String?, _ key: String, _ user: String
    ) throws(WorkerRefusal) -> String? {
        guard let purpose else { return nil }
        guard UploadPurpose(rawValue: purpose) == .chat else {
            throw WorkerRefusal(.invalidRequest, "There is no such purpose")
        }
        let token = digits()
        releases[key] = (user, token)
        return token
    }

    mutating func release(_ call: ServerCall) throws(WorkerRefusal) -> HTTPResponse {
        let user = try authenticate(call)
        let images: [ReleaseItem]
        do throws(ReleaseRequestError) { images = try ReleaseBatchRequest(parsing: Array(call.body)).images } catch {
            throw WorkerRefusal(.invalidRequest, error.rawValue)
        }
        var results: [ReleaseResult] = []
        for image in images {
            guard let release = releases[image.key], release.user == user, release.token == image.releaseToken else {
                results.append(ReleaseResult(key: image.key, failure: .forbidden))
                continue
            }
            objects[image.key] = nil
            results.append(ReleaseResult(key: image.key, bytesGoneBy: nil))
        }
        return Self.json(ReleaseBatchBody(results: results))
    }
}

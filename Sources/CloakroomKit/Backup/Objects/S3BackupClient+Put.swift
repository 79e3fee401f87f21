import CloakroomAWS
public import Foundation
import CloakroomHTTP

extension S3BackupClient {
    /// Stores bytes.
    ///
    /// - Parameters:
    ///   - metadata: stored with the object; names of letters, digits and hyphens, values of printable ASCII, 2,000 bytes
    ///     altogether.
    ///   - md5: of the bytes, 16 of them, where it is known already; S3 refuses other bytes.
    /// - Returns: when S3 has them, all of them.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/conditionFailed`` when the condition does not hold.
    @discardableResult
    public func put(
        _ data: Data, to key: String, contentType: String = "application/octet-stream",
        metadata: [String: String] = [:],
        condition: ObjectCondition = .none, md5: [UInt8]? = nil, progress: TransferProgress.Observer? = nil
    ) async throws -> ObjectInfo {
        let request = try PutRequest(contentType, metadata, condition, md5: md5, progress)
        return try await performing("storing", key) { target in
            try await budget.spending(data.count) { try await store(data, at: target, request) }
        }
    }

    /// Stores a file: a small one by one PUT, a larger one by a multipart upload, several parts at once, and from where an
    /// earlier upload of the same file to the same key stopped.
    ///
    /// A continued upload keeps the content type and the metadata that it was begun with. The parameters are those for
    /// bytes; `md5` is that of the whole file. Of a large one only its own parts are checked; where the key's name begins
    /// with the `md5`, as a photo's does, an upload of the same size continues whichever copy of the file it is.
    /// - Throws: ``CloakroomError``: besides, ``CloakroomError/Code/unreadableFile`` when the file changes meanwhile;
    ///   nothing is stored then.
    @discardableResult
    public func put(
        file: URL, to key: String, contentType: String = "application/octet-stream", metadata: [String: String] = [:],
        condition: ObjectCondition = .none, md5: [UInt8]? = nil, progress: TransferProgress.Observer? = nil
    ) async throws -> ObjectInfo {
        try await put(UploadFile(file), to: key, PutRequest(contentType, metadata, condition, md5: md5, progress))
    }

    /// The same, of an open file: whatever has its name by now.
    @discardableResult
    func put(_ file: UploadFile, to key: String, _ request: PutRequest) async throws -> ObjectInfo {
        try await performing("storing", key) { target in
            guard file.byteCount <= sizes.singlePut else {
                return try await MultipartPut(client: self, target: target, file: file, request: request).run()
            }
            // Read when there is room for it.
            return try await budget.spending(Int(file.byteCount)) {
                let (body, md5) = try await file.body(0..<file.byteCount, md5: request.md5)
                try file.checkUnchanged()
                return try await store(body, md5: md5, at: target, request)
            }
        }
    }

    func store(_ data: Data, at target: ObjectTarget, _ request: PutRequest) async throws -> ObjectInfo {
        let md5: [UInt8] = if let known = request.md5 { known } else { await Self.md5(data) }
        return try await store(.bytes(data), md5: md5, at: target, request)
    }

    private func store(
        _ body: HTTPBody, md5: [UInt8], at target: ObjectTarget, _ request: PutRequest
    ) async throws -> ObjectInfo {
        let size = body.byteCount
        let progress = request.progress.map { observer in
            { @Sendable (sent: HTTPProgress) in
                guard sent.bytesSent < size else { return }
                observer(TransferProgress(bytesDone: sent.bytesSent, bytesTotal: size))
            }
        }
        var fields: HeaderFields = ["content-type": request.contentType]
        fields.add(request.metadataFields())
        let stored = try await target.s3.put(
            target.object, digest: BodyDigest(md5: md5), fields: fields, condition: request.condition,
            by: upload(body, progress: progress))
        request.progress?(TransferProgress(bytesDone: size, bytesTotal: size))
        return ObjectInfo(
            key: target.key, byteCount: size, entityTag: stored.entityTag, contentType: request.contentType,
            metadata: request.metadata)
    }
}

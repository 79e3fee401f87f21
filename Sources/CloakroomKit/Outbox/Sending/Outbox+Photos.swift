import CloakroomAWS
import CloakroomHTTP
import Foundation

extension Outbox {
    /// - Returns: when S3 has the photo.
    func sendPhoto(_ row: inout OutboxRow) async throws -> Attempt {
        guard let photos else {
            throw CloakroomError(.notAllowedNow, "this outbox was opened without a client for photos")
        }
        let layout = try await photos.layout(ofUser: owner.user)
        let photo = PhotoObject(client: photos, key: try layout.photo(md5: row.identity), row: row)
        if let response = try await earlierResponse(&row), try await isStored(photo, &row, by: response) {
            return .sent
        }
        // A row whose file is gone may be back since the power failed.
        if row.mayBeStored || row.failures > 0 || !folder.isUnchanged(row) {
            if try await photo.isStored() { return .storedBefore }
            row.mayBeStored = false
        }
        try await checkFile(&row)
        guard row.file.byteCount <= options.largestPut else { return try await putParts(photo, &row) }
        // What the system sends may wait for hours.
        let lifetime = await carrier.outlivesProcess() ? options.urlLifetime : nil
        // The second time with other credentials, another clock, or without a condition.
        var createsOnly = true
        for isLast in [false, true] {
            let (url, fields) = try await photo.signed(createsOnly: createsOnly, for: lifetime)
            let response = try await transfer(request(url, fields, row), &row)
            do {
                if try await isStored(photo, &row, by: response) { return .sent }
            } catch let error as CloakroomError where !isLast {
                switch error.code {
                case _ where error.serverCode == "NotImplemented": createsOnly = false
                // A request of the client's own gets other credentials and corrects the clock where that is needed. S3
                // has no code for a URL that is signed by a clock that is ahead, and refuses it with 403.
                case _ where error.serverCode == "RequestTimeTooSkewed", .unavailable where error.status == 403,
                    .uploadURLExpired, .accessDenied:
                    if try await photo.isStored() { return .sent }
                default: throw error
                }
            }
        }
        return .sent
    }

    /// - Throws: ``CloakroomError`` when the response says that it is not.
    private func isStored(_ photo: PhotoObject, _ row: inout OutboxRow, by response: HTTPResponse) async throws -> Bool
    {
        if response.saysStored {
            // S3 itself has compared the bytes with `Content-MD5`. A store that does not is found out here, where its tag
            // says anything: of an object that is encrypted with a key it does not.
            guard let md5 = StoredObject(UpstreamResponse(response))?.md5, md5 != row.file.md5 else { return true }
            try await checkBytes(row)
            throw CloakroomError(.checksumMismatch, "storing \(photo.key): S3 has other bytes", status: 200)
        }
        if response.status == 412 {
            // The key is the hash of the content: it was this upload, another device's, or a backup's.
            if try await photo.isStored() { return true }
            throw CloakroomError(.conditionFailed, "\(photo.key) is another object", status: 412)
        }
        switch UploadAttemptOutcome(response, createsOnly: false, now: runtime.wallClock()) {
        case .storedBefore: return true
        case .again(let error), .final(let error):
            if error.code == .checksumMismatch { try await checkBytes(row) }
            throw error
        }
    }

    private func putParts(_ photo: PhotoObject, _ row: inout OutboxRow) async throws -> Attempt {
        // S3 checks each part alone, and the copy is removed afterwards.
        try await checkBytes(row)
        _ = begin(&row)
        try store.update(row)
        await onStep(.begun)
        let id = row.id
        let (values, observer) = TransferProgress.stream()
        let watch = Task { for await value in values { self.note(value, of: id) } }
        defer { watch.cancel() }
        do {
            try await photo.put(folder.file(row.id), .isNew, progress: observer)
        } catch let error as CloakroomError where error.code == .conditionFailed {
            guard try await photo.isStored() else { throw error }
            // It is looked for before the first part.
            if transfers.sent[id] ?? 0 == 0 { return .storedBefore }
        } catch let error as CloakroomError where error.serverCode == "NotImplemented" {
            try await photo.put(folder.file(row.id), .none, progress: observer)
        }
        await onStep(.ended)
        return .sent
    }

    private func note(_ value: TransferProgress, of id: String) {
        guard transfers.sent[id] != nil else { return }
        transfers.sent[id] = value.bytesDone
        publish(isProgress: true)
    }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile`` when the copy is not what was added.
    func checkBytes(_ row: OutboxRow) async throws {
        guard try await folder.hasSameBytes(row) else {
            throw CloakroomError(.unreadableFile, "the outbox's copy is damaged or gone")
        }
    }
}

/// Where a photo goes.
private struct PhotoObject {
    let client: S3BackupClient
    let key: String
    let md5: [UInt8]
    let byteCount: Int64
    let contentType: String
    let metadata: [String: String]

    init(client: S3BackupClient, key: String, row: OutboxRow) {
        self.client = client
        self.key = key
        md5 = PhotoDigest(hexadecimal: row.file.md5)?.bytes ?? []
        byteCount = row.file.byteCount
        contentType = row.contentType
        metadata = row.format.map { [OriginalFormat.field: $0] } ?? [:]
    }

    /// Whether S3 says that it has it, by an object of this key and size, and of this MD5 where its tag has one.
    func isStored() async throws -> Bool {
        guard let stored = try await client.stored(key) else { return false }
        guard stored.byteCount.map({ Int64($0) }) == byteCount, stored.md5 == nil || stored.md5 == md5.hexadecimal
        else {
            throw CloakroomError(.conditionFailed, "\(key) is another object")
        }
        return true
    }

    /// - Parameter lifetime: of a URL; `nil` for what is sent at once.
    func signed(
        createsOnly: Bool, for lifetime: Duration?
    ) async throws -> (url: URL, fields: [(name: String, value: String)]) {
        var fields = ObjectFields.fields(metadata: metadata, partSize: nil)
        fields.add("content-md5", Data(md5).base64EncodedString())
        if createsOnly { fields.add("if-none-match", "*") }
        let terms = UploadTerms(
            contentType: contentType, byteCount: Int(byteCount), createsOnly: false, lifetime: lifetime ?? .zero,
            otherFields: fields)
        return try await client.signedPut(key, terms, isPresigned: lifetime != nil)
    }

    func put(_ file: URL, _ condition: ObjectCondition, progress: @escaping TransferProgress.Observer) async throws {
        try await client.put(
            file: file, to: key, contentType: contentType, metadata: metadata, condition: condition, md5: md5,
            progress: progress)
    }
}

extension S3BackupClient {
    /// Signs the upload of an object; nothing is sent but what new credentials need.
    ///
    /// - Parameter isPresigned: in the query, for a URL that holds as long as the terms say. A signature in the fields, as a
    ///   backup's, holds for minutes, and there is no URL that others could use.
    /// - Returns: the URL, and the fields to send with it, without those that the transport writes.
    func signedPut(
        _ key: String, _ terms: UploadTerms, isPresigned: Bool
    ) async throws -> (url: URL, fields: [(name: String, value: String)]) {
        try await performing("signing", key) { target in
            let text: String
            let signed: HeaderFields
            // By the time that the worker has shown, until S3 shows its own: a refusal would cost the whole transfer.
            let offset = await clockOffset
            if isPresigned {
                let upload = try await target.s3.presignUpload(target.object, terms: terms, offset: offset)
                (text, signed) = (upload.url.reveal(), upload.fields)
            } else {
                let request = try await target.s3.signUpload(target.object, terms: terms, offset: offset)
                (text, signed) = (request.origin + request.target, request.fields)
            }
            guard let url = URL(string: text) else {
                throw CloakroomError(.invalidRequest, "signing \(key): no URL")
            }
            let fields = signed.map { (name: $0.name, value: $0.value) }
            return (url, fields.filter { !["host", "content-length"].contains($0.name.lowercased()) })
        }
    }
}

import CloakroomAWS
import CloakroomCrypto
import Foundation

/// The multipart upload of one file.
struct MultipartPut {
    let client: S3BackupClient
    let target: ObjectTarget
    let file: UploadFile
    let request: PutRequest

    /// Continues the upload in the journal, or begins one.
    func run() async throws -> ObjectInfo {
        let claim = "\(target.bucket)/\(target.key)"
        try await client.claim(claim)
        do {
            let info = try await uploaded()
            await client.release(claim)
            return info
        } catch {
            await client.release(claim)
            throw error
        }
    }

    private func uploaded() async throws -> ObjectInfo {
        // A journal that fails costs time, not the upload.
        if let noted = try? await client.journal.upload(of: target.key, in: target.bucket) {
            let plan = FilePartLayout(byteCount: file.byteCount, partSize: max(1, noted.partSize))
            if isOfSameFile(noted), noted.partSize == plan.partSize, plan.count <= FilePartLayout.maximumParts {
                let parts = try await target.s3.parts(
                    of: noted.uploadID, target.object, deadline: client.operationDeadline)
                if let info = try await continued(noted, plan, have: parts) { return info }
            } else {
                // Of other bytes.
                try? await client.abandon(noted)
            }
        }
        // Before all the bytes, not after them.
        if request.condition == .ifNoneMatch,
            try await target.s3.head(target.object, deadline: client.operationDeadline) != nil
        {
            throw existsAlready
        }
        let plan = FilePartLayout(byteCount: file.byteCount, preferred: client.sizes.part)
        let id = try await target.s3.createMultipartUpload(
            target.object, contentType: request.contentType, fields: request.metadataFields(partSize: plan.partSize),
            deadline: client.operationDeadline)
        let upload = MultipartUpload(
            bucket: target.bucket, key: target.key, uploadID: id, partSize: plan.partSize, file: file.version)
        try? await client.journal.save(upload)
        if let info = try await continued(upload, plan, have: []) { return info }
        throw CloakroomError(.uploadNotFound, "storing \(target.key): the upload was aborted")
    }

    /// A photo's key is the MD5 of its bytes: each export of it is another file with the same bytes. What differs all the
    /// same is found out part by part.
    private func isOfSameFile(_ noted: MultipartUpload) -> Bool {
        if noted.file == file.version { return true }
        guard let md5 = request.md5, let name = target.key.split(separator: "/").last else { return false }
        return name.hasPrefix(md5.hexadecimal) && noted.file.byteCount == file.byteCount
    }

    /// - Parameter parts: that S3 has; `nil` when the upload is gone.
    /// - Returns: `nil` when the upload is gone, and the object is not there.
    private func continued(
        _ upload: MultipartUpload, _ plan: FilePartLayout, have parts: [UploadedPart]?
    ) async throws -> ObjectInfo? {
        do {
            if let parts { return try await finished(upload, plan, have: parts) }
        } catch let fault as AWSError where fault.code == "NoSuchUpload" {
            // Completed or aborted by another client meanwhile.
        }
        // Perhaps completed by that one, or by a run that ended before it could note that.
        if let stored = try await target.s3.head(target.object, deadline: client.operationDeadline),
            let tag = stored.partsMD5, tag.count == plan.count, stored.byteCount.map({ Int64($0) }) == file.byteCount
        {
            var sums: [[UInt8]] = []
            for number in 1...plan.count { sums.append(try await file.md5(plan.range(number))) }
            if let info = info(stored, sums) {
                try? await client.journal.remove(upload)
                reportEnd()
                return info
            }
        }
        try? await client.journal.remove(upload)
        return nil
    }

    private func finished(
        _ upload: MultipartUpload, _ plan: FilePartLayout, have: [UploadedPart]
    ) async throws -> ObjectInfo {
        do {
            let parts = try await send(upload, plan, have: have)
            try file.checkUnchanged()
            return try await complete(upload, parts)
        } catch let error as CloakroomError where Self.unrecoverable.contains(error.code) {
            try? await client.abandon(upload)
            throw error
        }
    }

    /// After these the upload cannot succeed.
    private static let unrecoverable: Set<CloakroomError.Code> = [.unreadableFile, .uploadIncomplete, .conditionFailed]

    private struct SentPart: Sendable {
        let part: UploadedPart
        let md5: [UInt8]
    }

    /// Sends the parts that S3 does not have, several at once.
    private func send(
        _ upload: MultipartUpload, _ plan: FilePartLayout, have: [UploadedPart]
    ) async throws -> [SentPart] {
        let known = Dictionary(have.map { ($0.number, $0) }, uniquingKeysWith: { _, last in last })
        let meter = request.progress.map {
            TransferMeter(total: file.byteCount, observer: $0, spawn: client.runtime.spawn)
        }
        do {
            let sent = try await send(upload, plan, known: known, meter)
            await meter?.end()
            return sent
        } catch {
            await meter?.end()
            throw error
        }
    }

    private func send(
        _ upload: MultipartUpload, _ plan: FilePartLayout, known: [Int: UploadedPart], _ meter: TransferMeter?
    ) async throws -> [SentPart] {
        try await withThrowingTaskGroup(of: SentPart.self) { group in
            var sent: [SentPart] = []
            var next = 1
            func startNext() {
                guard next <= plan.count else { return }
                let number = next
                next += 1
                group.addTask { try await send(number, of: upload, plan.range(number), known: known[number], meter) }
            }
            for _ in 0..<client.sizes.partsAtOnce { startNext() }
            while let part = try await group.next() {
                sent.append(part)
                startNext()
            }
            return sent.sorted { $0.part.number < $1.part.number }
        }
    }

    /// - Parameter known: what S3 has of this number; used only when it has the same bytes.
    private func send(
        _ number: Int, of upload: MultipartUpload, _ range: Range<Int64>, known: UploadedPart?, _ meter: TransferMeter?
    ) async throws -> SentPart {
        // On Apple's systems the transport holds up to so much of a part in memory.
        try await client.budget.spending(min(range.count, 8 << 20)) {
            let (body, md5) = try await file.body(range)
            let size = range.count
            if let known, known.byteCount == size, known.entityTag.filter({ $0 != "\"" }) == md5.hexadecimal {
                meter?.set(number, Int64(size))
                return SentPart(part: known, md5: md5)
            }
            let progress = meter.map { meter in
                { @Sendable (sent: HTTPProgress) in meter.set(number, sent.bytesSent) }
            }
            let transfer = client.upload(body, progress: progress)
            let tag = try await target.s3.uploadPart(
                number, of: upload.uploadID, target.object, digest: BodyDigest(md5: md5), by: transfer)
            meter?.set(number, Int64(size))
            return SentPart(part: UploadedPart(number: number, entityTag: tag, byteCount: size), md5: md5)
        }
    }

    /// Completes the upload, and verifies the object with HEAD.
    private func complete(_ upload: MultipartUpload, _ parts: [SentPart]) async throws -> ObjectInfo {
        var failure: CloakroomError?
        do {
            let completion = try await target.s3.completeMultipartUpload(
                target.object, uploadID: upload.uploadID, parts: parts.map(\.part), condition: request.condition,
                timeout: .seconds(300), deadline: client.runtime.now().advanced(by: .seconds(900)))
            switch completion {
            case .completed: break
            case .objectExists:
                failure = existsAlready
            case .noSuchUpload:
                failure = CloakroomError(.uploadNotFound, "storing \(target.key): the upload was aborted")
            case .partsRefused(let code):
                throw CloakroomError(.uploadIncomplete, "storing \(target.key)", serverCode: code)
            }
        } catch let fault as AWSError {
            failure = CloakroomError(fault, doing: "storing \(target.key)")
            // A refused request had no effect; after any other failure the outcome is unknown.
            guard fault.kind == .transient || fault.kind == .throttled else { throw fault }
        }
        // An attempt whose response was lost may have completed it.
        let stored = try await target.s3.head(target.object, deadline: client.operationDeadline)
        if let stored, let info = info(stored, parts.map(\.md5), isCertain: failure == nil) {
            try? await client.journal.remove(upload)
            reportEnd()
            return info
        }
        throw failure ?? CloakroomError(.checksumMismatch, "storing \(target.key): S3 has other bytes")
    }

    private func reportEnd() {
        request.progress?(TransferProgress(bytesDone: file.byteCount, bytesTotal: file.byteCount))
    }

    private var existsAlready: CloakroomError {
        CloakroomError(.conditionFailed, "storing \(target.key): there is an object already, or not the one expected")
    }

    /// - Parameter isCertain: S3 has said that it made the object; else its entity tag has to show that.
    /// - Returns: `nil` when it is another object.
    private func info(_ stored: StoredObject, _ sums: [[UInt8]], isCertain: Bool = false) -> ObjectInfo? {
        guard stored.byteCount.map({ Int64($0) }) == file.byteCount else { return nil }
        guard let tag = stored.partsMD5 else {
            return isCertain ? ObjectInfo(stored, key: target.key) : nil
        }
        var md5 = MD5()
        for sum in sums { md5.update(sum) }
        guard tag.count == sums.count, tag.md5 == md5.finalize().hexadecimal else { return nil }
        return ObjectInfo(stored, key: target.key)
    }
}

extension S3BackupClient {
    /// Aborts the multipart uploads that were begun and not completed; S3 deletes their parts.
    ///
    /// - Throws: ``CloakroomError`` for the first that could not be aborted; the others are, all the same.
    public func abandonUploads() async throws {
        var failure: (any Error)?
        for upload in try await mappingErrors("reading the journal", { try await journal.uploads() }) {
            do { try await mappingErrors("aborting \(upload.key)") { try await abandon(upload) } } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    func abandon(_ upload: MultipartUpload) async throws {
        let (name, s3) = try await bucket()
        // Those of another bucket are out of reach; its lifecycle rule removes them.
        if name == upload.bucket, let object = ObjectAddress(key: upload.key) {
            _ = try await s3.abortMultipartUpload(object, uploadID: upload.uploadID, deadline: operationDeadline)
        }
        try await journal.remove(upload)
    }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeInUse`` while another transfer to it is in progress.
    func claim(_ resource: String) throws {
        guard busy.insert(resource).inserted else {
            throw CloakroomError(.storeInUse, "\(resource) is being transferred already")
        }
    }

    func release(_ resource: String) { busy.remove(resource) }
}

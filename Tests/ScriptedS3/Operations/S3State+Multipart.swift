import CloakroomCrypto
import Foundation

/// Multipart uploads.
///
/// Source: S3 API Reference and its errors `InvalidPart`, `InvalidPartOrder`, `EntityTooSmall` (all parts but the last
/// have at least 5 MiB); the entity tag is the MD5 of the parts' MD5s with their number (S3 User Guide, "Checking
/// object integrity").
extension S3State {
    mutating func createUpload(_ call: Call) throws(S3Error) -> S3Reply {
        try call.who.require("s3:PutObject", call.key)
        let id = "upload." + String(number(), radix: 36)
        let first = try version(from: call.request, call)
        self[bucket: call.request.bucket].uploads[id] = Bucket.Upload(key: call.key, started: call.now, first: first)
        return S3Reply(
            200,
            xml: "<InitiateMultipartUploadResult\(XMLText.namespace)>"
                + XMLText.element("Bucket", call.request.bucket) + XMLText.element("Key", call.key)
                + XMLText.element("UploadId", id) + "</InitiateMultipartUploadResult>")
    }

    private func upload(_ call: Call) throws(S3Error) -> (id: String, Bucket.Upload) {
        let id = call.request.parameter("uploadId") ?? ""
        guard let upload = self[bucket: call.request.bucket].uploads[id], upload.key == call.key else {
            throw .noSuchUpload(id)
        }
        return (id, upload)
    }

    private func partNumber(_ call: Call) throws(S3Error) -> Int {
        let text = call.request.parameter("partNumber") ?? ""
        guard let number = Int(text), (1...10_000).contains(number) else {
            throw .invalidArgument(
                "Part number must be an integer between 1 and 10000, inclusive", "partNumber", text)
        }
        return number
    }

    private mutating func store(_ bytes: [UInt8], _ call: Call) throws(S3Error) -> String {
        let number = try partNumber(call)
        let (id, _) = try upload(call)
        let tag = "\"\(MD5.hash(bytes).hexadecimal)\""
        self[bucket: call.request.bucket].uploads[id]?.parts[number] = (bytes, tag)
        return tag
    }

    mutating func uploadPart(_ call: Call) throws(S3Error) -> S3Reply {
        try call.who.require("s3:PutObject", call.key)
        try checkDigests(call.request, call.request.body)
        var reply = S3Reply(200)
        reply.add("ETag", try store(call.request.body, call))
        return reply
    }

    mutating func uploadPartCopy(_ call: Call) throws(S3Error) -> S3Reply {
        try call.who.require("s3:PutObject", call.key)
        let (_, _, source) = try copySource(call)
        try CopyConditions(request: call.request).check(source, now: call.now)
        var bytes = source.bytes
        if let range = call.request.field("x-amz-copy-source-range") {
            guard let match = range.wholeMatch(of: /bytes=(\d+)-(\d+)/), let first = Int(match.1),
                let last = Int(match.2), first <= last, last < source.size, last - first < Self.copyLimit
            else {
                throw .invalidArgument(
                    "The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy",
                    "x-amz-copy-source-range", range)
            }
            // A source that only pretends to be large gives parts that do so, by their range.
            bytes = source.pretendedSize == nil ? Array(bytes[first...last]) : Array("\(first)-\(last)".utf8)
        }
        let tag = try store(bytes, call)
        if source.pretendedSize != nil {
            let (id, _) = try upload(call)
            self[bucket: call.request.bucket].uploads[id]?.first.pretendedSize = source.pretendedSize
        }
        return S3Reply(
            200,
            xml: "<CopyPartResult\(XMLText.namespace)>" + XMLText.element("ETag", tag)
                + XMLText.element("LastModified", S3Timestamp(call.now).iso) + "</CopyPartResult>")
    }

    mutating func completeUpload(_ call: Call) throws(S3Error) -> S3Reply {
        try call.who.require("s3:PutObject", call.key)
        let (id, upload) = try upload(call)
        guard let root = XMLTree.read(call.request.body), root.name == "CompleteMultipartUpload" else {
            throw .malformedXML
        }
        let named = root.all("Part").map { (Int($0.text("PartNumber") ?? "") ?? 0, $0.text("ETag") ?? "") }
        guard !named.isEmpty else { throw .malformedXML }
        guard zip(named, named.dropFirst()).allSatisfy({ $0.0 < $1.0 }) else {
            throw S3Error(400, "InvalidPartOrder", "The list of parts was not in ascending order.")
        }
        try checkWriteConditions(call.request, call.key, call.request.bucket)
        var version = upload.first
        version.lastModified = call.now
        var digests: [UInt8] = []
        for (place, part) in named.enumerated() {
            guard let stored = upload.parts[part.0],
                stored.entityTag.filter({ $0 != "\"" }) == part.1.filter({ $0 != "\"" })
            else {
                throw S3Error(
                    400, "InvalidPart",
                    "One or more of the specified parts could not be found.  The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.",
                    details: [("UploadId", id), ("PartNumber", String(part.0)), ("ETag", part.1)])
            }
            let isSmall = stored.bytes.count < 5 << 20 && version.pretendedSize == nil
            guard !isSmall || place == named.count - 1 else {
                throw S3Error(
                    400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size",
                    details: [("ProposedSize", String(stored.bytes.count)), ("MinSizeAllowed", String(5 << 20))])
            }
            version.bytes += stored.bytes
            digests += MD5.hash(stored.bytes)
        }
        let before = self[bucket: call.request.bucket].current(call.key)
        version.selfCopies = before.map { $0.selfCopies + 1 } ?? 0
        version.partCount = named.count
        version.entityTag = "\"\(MD5.hash(digests).hexadecimal)-\(named.count)\""
        self[bucket: call.request.bucket].uploads[id] = nil
        let versionID = write(version, call.key, into: call.request.bucket)
        var reply = S3Reply(
            200,
            xml: "<CompleteMultipartUploadResult\(XMLText.namespace)>"
                + XMLText.element("Location", "http://scripted/\(call.request.bucket)/\(call.key)")
                + XMLText.element("Bucket", call.request.bucket) + XMLText.element("Key", call.key)
                + XMLText.element("ETag", version.entityTag) + "</CompleteMultipartUploadResult>")
        reply.add("x-amz-version-id", versionID)
        reply.add("x-amz-expiration", expirationField(call.key, version, in: call.request.bucket))
        reply.isChunked = true
        return reply
    }

    mutating func abortUpload(_ call: Call) throws(S3Error) -> S3Reply {
        try call.who.require("s3:AbortMultipartUpload", call.key)
        let (id, _) = try upload(call)
        self[bucket: call.request.bucket].uploads[id] = nil
        return S3Reply(204)
    }

    mutating func listParts(_ call: Call) throws(S3Error) -> S3Reply {
        try call.who.require("s3:ListMultipartUploadParts", call.key)
        let (id, upload) = try upload(call)
        let most = min(1000, call.request.parameter("max-parts").flatMap { Int($0) } ?? 1000)
        let marker = call.request.parameter("part-number-marker").flatMap { Int($0) } ?? 0
        let rest = upload.parts.filter { $0.key > marker }.sorted { $0.key < $1.key }
        let parts = rest.prefix(most).map {
            "<Part>" + XMLText.element("PartNumber", String($0.key)) + XMLText.element("ETag", $0.value.entityTag)
                + XMLText.element("Size", String($0.value.bytes.count)) + "</Part>"
        }
        let isTruncated = rest.count > most
        let next = isTruncated ? rest.prefix(most).last.map { String($0.key) } : nil
        return S3Reply(
            200,
            xml: "<ListPartsResult\(XMLText.namespace)>" + XMLText.element("Bucket", call.request.bucket)
                + XMLText.element("Key", call.key) + XMLText.element("UploadId", id)
                + (next.map { XMLText.element("NextPartNumberMarker", $0) } ?? "")
                + XMLText.element("IsTruncated", isTruncated ? "true" : "false") + parts.joined() + "</ListPartsResult>"
        )
    }

    mutating func listUploads(_ call: Call) throws(S3Error) -> S3Reply {
        try call.who.require("s3:ListBucketMultipartUploads")
        expireAll(now: call.now)
        let prefix = call.request.parameter("prefix") ?? ""
        let uploads = self[bucket: call.request.bucket].uploads.filter { $0.value.key.hasPrefix(prefix) }
            .sorted { $0.key < $1.key }.map {
                "<Upload>" + XMLText.element("Key", $0.value.key) + XMLText.element("UploadId", $0.key)
                    + XMLText.element("Initiated", S3Timestamp($0.value.started).iso) + "</Upload>"
            }
        return S3Reply(
            200,
            xml: "<ListMultipartUploadsResult\(XMLText.namespace)>"
                + XMLText.element("Bucket", call.request.bucket) + XMLText.element("IsTruncated", "false")
                + uploads.joined() + "</ListMultipartUploadsResult>")
    }
}

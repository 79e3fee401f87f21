import CloakroomCrypto
import Foundation

/// PutObject, GetObject, HeadObject, DeleteObject and the tags of an object.
///
/// Missing keys are 404 for who may list and 403 for who may not: API Reference of GetObject and HeadObject.
/// Conditional writes: LocalStack's `TestS3ObjectWritePrecondition`, validated on AWS. Checksums: `BadDigest`,
/// `InvalidDigest` of the API Reference, "Error responses".
extension S3State {
    mutating func putObject(_ call: Call) throws(S3Error) -> S3Reply {
        let request = call.request
        try call.who.require("s3:PutObject", call.key)
        guard request.field("content-length") != nil else {
            throw S3Error(411, "MissingContentLength", "You must provide the Content-Length HTTP header.")
        }
        try checkDigests(request, request.body)
        try checkWriteConditions(request, call.key, request.bucket)
        var version = try version(from: request, call)
        version.bytes = request.body
        version.checksum = request["x-amz-checksum-sha256"]
        return written(&version, call.key, request.bucket)
    }

    /// Writes it, and tells its tag, version and end.
    mutating func written(_ version: inout StoredVersion, _ key: String, _ bucket: String) -> S3Reply {
        version.seal(distinguishing: number())
        let id = write(version, key, into: bucket)
        var reply = S3Reply(200)
        reply.add("ETag", version.entityTag)
        reply.add("x-amz-version-id", id)
        reply.add("x-amz-expiration", expirationField(key, version, in: bucket))
        describeEncryption(version, &reply)
        return reply
    }

    /// What the fields of an upload say about the object.
    func version(from request: S3Request, _ call: Call) throws(S3Error) -> StoredVersion {
        var version = StoredVersion(lastModified: call.now)
        version.systemMetadata = Self.systemMetadata(request)
        version.userMetadata = request.userMetadata
        version.encryption = try encryption(request)
        version.storageClass = try Self.storageClass(request["x-amz-storage-class"])
        version.websiteRedirect = request["x-amz-website-redirect-location"]
        if let tags = request["x-amz-tagging"] {
            try call.who.require("s3:PutObjectTagging", call.key)
            version.tags = Self.tags(tags)
        }
        if let acl = request["x-amz-acl"] {
            try call.who.require("s3:PutObjectAcl", call.key)
            version.acl = acl
        }
        let lock = StoredVersion.Lock(
            mode: request["x-amz-object-lock-mode"], until: request["x-amz-object-lock-retain-until-date"],
            legalHold: request["x-amz-object-lock-legal-hold"])
        if lock != StoredVersion.Lock() { version.lock = lock }
        return version
    }

    static func systemMetadata(_ request: S3Request) -> [S3Request.Pair] {
        let fields = StoredVersion.systemNames.compactMap { name in
            request.field(name).map { S3Request.Pair(name: name, value: $0) }
        }
        let hasType = fields.contains { $0.name == "content-type" }
        return hasType ? fields : fields + [.init(name: "content-type", value: "binary/octet-stream")]
    }

    static func storageClass(_ name: String?) throws(S3Error) -> String {
        let known = [
            "STANDARD", "REDUCED_REDUNDANCY", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER",
            "DEEP_ARCHIVE", "GLACIER_IR",
        ]
        guard let name else { return "STANDARD" }
        guard known.contains(name) else {
            throw S3Error(400, "InvalidStorageClass", "The storage class you specified is not valid")
        }
        return name
    }

    static func tags(_ text: String) -> [S3Request.Pair] {
        S3Request(method: "", target: "/?\(text)", fields: []).query
    }

    /// Of the fields, or for want of them the bucket's default.
    func encryption(_ request: S3Request) throws(S3Error) -> StoredVersion.Encryption {
        if let md5 = request["x-amz-server-side-encryption-customer-key-md5"] { return .customer(keyMD5: md5) }
        switch request["x-amz-server-side-encryption"] {
        case nil: return self[bucket: request.bucket].encryption ?? .s3
        case "AES256": return .s3
        case "aws:kms", "aws:kms:dsse":
            return .kms(
                key: request["x-amz-server-side-encryption-aws-kms-key-id"] ?? "aws/s3",
                usesBucketKey: request["x-amz-server-side-encryption-bucket-key-enabled"] == "true")
        default:
            throw .invalidArgument(
                "The encryption method specified is not supported", "x-amz-server-side-encryption", "")
        }
    }

    func checkDigests(_ request: S3Request, _ body: [UInt8]) throws(S3Error) {
        if let text = request.field("content-md5") {
            guard let digest = Data(base64Encoded: text), digest.count == 16 else {
                throw S3Error(400, "InvalidDigest", "The Content-MD5 you specified was invalid.")
            }
            guard Array(digest) == MD5.hash(body) else {
                throw S3Error(400, "BadDigest", "The Content-MD5 you specified did not match what we received.")
            }
        }
        if let text = request.field("x-amz-checksum-crc32") {
            guard Data(base64Encoded: text) == Data(CRC32.hash(body)) else {
                throw S3Error(400, "BadDigest", "The CRC32 you specified did not match the calculated checksum.")
            }
        }
        if let text = request["x-amz-checksum-sha256"] {
            guard let digest = Data(base64Encoded: text), digest.count == 32 else {
                throw S3Error(
                    400, "InvalidRequest", "Value for x-amz-checksum-sha256 header is invalid.")
            }
            guard Array(digest) == SHA256.hash(body) else {
                throw S3Error(
                    400, "BadDigest", "The SHA256 you specified did not match the calculated checksum.")
            }
        }
    }

    func checkWriteConditions(_ request: S3Request, _ key: String, _ bucket: String) throws(S3Error) {
        let current = self[bucket: bucket].current(key)
        if let condition = request["if-none-match"] {
            guard condition == "*" else { throw .notImplemented("If-None-Match") }
            guard current == nil else { throw .preconditionFailed("If-None-Match") }
        }
        if let tag = request["if-match"] {
            guard tag != "*" else { throw .notImplemented("If-Match") }
            guard let current else { throw .noSuchKey(key) }
            guard CopyConditions.matches(tag, current) else { throw .preconditionFailed("If-Match") }
        }
    }

    // MARK: Reading

    /// - Throws: what S3 says about a version that is not there, depending on whether the caller may list.
    func find(_ call: Call, action: String) throws(S3Error) -> StoredVersion {
        try call.who.require(action, call.key)
        let bucket = self[bucket: call.request.bucket]
        let wanted = call.request.parameter("versionId")
        let found =
            wanted.map { id in bucket.versions[call.key]?.first { $0.versionID == id } }
            ?? bucket.versions[call.key]?.last
        guard let found, !found.isDeleteMarker else {
            guard call.who.may("s3:ListBucket") else { throw .accessDenied }
            guard found == nil || wanted == nil else {
                throw S3Error(405, "MethodNotAllowed", "The specified method is not allowed against this resource.")
            }
            var failure =
                wanted == nil || found != nil
                ? S3Error.noSuchKey(call.key)
                : S3Error(404, "NoSuchVersion", "The specified version does not exist.")
            if found?.isDeleteMarker == true { failure.fields = [.init(name: "x-amz-delete-marker", value: "true")] }
            throw failure
        }
        return found
    }

    mutating func getObject(_ call: Call) throws(S3Error) -> S3Reply {
        let version = try find(call, action: "s3:GetObject")
        if let tag = call.request.field("if-match"), !CopyConditions.matches(tag, version) {
            throw .preconditionFailed("If-Match")
        }
        guard !version.isArchived else { throw Self.archived(version) }
        try call.who.requireKey(of: version)
        var reply = describe(version, call)
        reply.body = version.bytes
        // API Reference, GetObject: only signed requests may change it; unsigned ones do not come here.
        if let type = call.request.parameter("response-content-type") {
            reply.fields.removeAll { $0.name.lowercased() == "content-type" }
            reply.add("Content-Type", type)
        }
        guard let range = call.request.field("range"), let bounds = Self.bounds(range) else { return reply }
        let first = Int(bounds.first) ?? 0
        let last = min(Int(bounds.last) ?? Int.max, version.size - 1)
        guard first <= last else {
            throw S3Error(
                416, "InvalidRange", "The requested range is not satisfiable",
                details: [("RangeRequested", range), ("ActualObjectSize", String(version.size))])
        }
        reply.status = 206
        reply.body = version.pretendedSize == nil ? Array(version.bytes[first...last]) : []
        reply.fields.removeAll { $0.name == "Content-Length" }
        reply.add("Content-Length", String(reply.body.count))
        reply.add("Content-Range", "bytes \(first)-\(last)/\(version.size)")
        return reply
    }

    /// `bytes=FIRST-LAST`, of digits; the last may be missing.
    private static func bounds(_ range: String) -> (first: Substring, last: Substring)? {
        let start = "bytes="
        guard range.hasPrefix(start) else { return nil }
        let parts = range.dropFirst(start.count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty,
            parts.allSatisfy({ $0.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } })
        else { return nil }
        return (parts[0], parts[1])
    }

    mutating func headObject(_ call: Call) throws(S3Error) -> S3Reply {
        describe(try find(call, action: "s3:GetObject"), call)
    }

    static func archived(_ version: StoredVersion) -> S3Error {
        S3Error(
            403, "InvalidObjectState", "The operation is not valid for the object's storage class",
            details: [("StorageClass", version.storageClass)])
    }

    /// What HEAD says. Only another class than STANDARD is named (API Reference, HeadObject).
    private func describe(_ version: StoredVersion, _ call: Call) -> S3Reply {
        var reply = S3Reply(200)
        reply.add("Last-Modified", S3Timestamp(version.lastModified).http)
        reply.add("ETag", version.entityTag)
        reply.add("Content-Length", String(version.size))
        reply.add("Accept-Ranges", "bytes")
        for field in version.systemMetadata { reply.fields.append(field) }
        for field in version.userMetadata { reply.add("x-amz-meta-\(field.name)", field.value) }
        if version.storageClass != "STANDARD" { reply.add("x-amz-storage-class", version.storageClass) }
        if !version.tags.isEmpty { reply.add("x-amz-tagging-count", String(version.tags.count)) }
        reply.add("x-amz-website-redirect-location", version.websiteRedirect)
        reply.add("x-amz-expiration", expirationField(call.key, version, in: call.request.bucket))
        if self[bucket: call.request.bucket].versioning != nil { reply.add("x-amz-version-id", version.versionID) }
        if version.isRestored { reply.add("x-amz-restore", #"ongoing-request="false""#) }
        reply.add("x-amz-object-lock-mode", version.lock?.mode)
        reply.add("x-amz-object-lock-retain-until-date", version.lock?.until)
        reply.add("x-amz-object-lock-legal-hold", version.lock?.legalHold)
        if call.request.field("x-amz-checksum-mode") == "ENABLED" {
            reply.add("x-amz-checksum-sha256", version.checksum)
        }
        if call.request.has("partNumber") { reply.add("x-amz-mp-parts-count", version.partCount.map(String.init)) }
        describeEncryption(version, &reply)
        return reply
    }

    func describeEncryption(_ version: StoredVersion, _ reply: inout S3Reply) {
        switch version.encryption {
        case .s3: reply.add("x-amz-server-side-encryption", "AES256")
        case .kms(let key, let usesBucketKey):
            reply.add("x-amz-server-side-encryption", "aws:kms")
            reply.add("x-amz-server-side-encryption-aws-kms-key-id", key)
            if usesBucketKey { reply.add("x-amz-server-side-encryption-bucket-key-enabled", "true") }
        case .customer(let md5):
            reply.add("x-amz-server-side-encryption-customer-algorithm", "AES256")
            reply.add("x-amz-server-side-encryption-customer-key-MD5", md5)
        }
    }

    // MARK: Removing, tags

    mutating func deleteObject(_ call: Call) throws(S3Error) -> S3Reply {
        let version = call.request.parameter("versionId")
        try call.who.require(version == nil ? "s3:DeleteObject" : "s3:DeleteObjectVersion", call.key)
        if let tag = call.request.field("if-match") {
            // User Guide, "How to perform conditional deletes".
            if tag != "*" { try call.who.require("s3:GetObject", call.key) }
            guard let current = self[bucket: call.request.bucket].current(call.key),
                tag == "*" || CopyConditions.matches(tag, current)
            else { throw .preconditionFailed("If-Match") }
        }
        let id = Self.versionID(number())
        let deleted = self[bucket: call.request.bucket].delete(call.key, version: version, now: call.now) { id }
        var reply = S3Reply(204)
        reply.add("x-amz-version-id", deleted?.id)
        if deleted?.isMarker == true { reply.add("x-amz-delete-marker", "true") }
        return reply
    }

    mutating func getTagging(_ call: Call) throws(S3Error) -> S3Reply {
        let tags = try find(call, action: "s3:GetObjectTagging").tags.map {
            "<Tag>\(XMLText.element("Key", $0.name))\(XMLText.element("Value", $0.value))</Tag>"
        }
        return S3Reply(200, xml: "<Tagging\(XMLText.namespace)><TagSet>\(tags.joined())</TagSet></Tagging>")
    }

    mutating func putTagging(_ call: Call) throws(S3Error) -> S3Reply {
        _ = try find(call, action: "s3:PutObjectTagging")
        guard let root = XMLTree.read(call.request.body), root.name == "Tagging", let set = root["TagSet"] else {
            throw .malformedXML
        }
        let tags = set.all("Tag").map {
            S3Request.Pair(name: $0.text("Key") ?? "", value: $0["Value"]?.text ?? "")
        }
        self[bucket: call.request.bucket].change(call.key) { $0.tags = tags }
        return S3Reply(200)
    }
}

import Foundation

/// CopyObject: when AWS takes a copy of an object onto itself, and what such a copy keeps.
///
/// Legal or not, in the order of the code, with LocalStack's test that was recorded on AWS (`test_s3.py::TestS3::`):
/// a storage class, even the same: `test_s3_copy_object_in_place_storage_class`; a website redirect:
/// `…_in_place_website_redirect_location`; encryption: `…_in_place_with_encryption`; REPLACE:
/// `…_in_place_metadata_directive`; a bucket with encryption of its own: `test_copy_in_place_with_bucket_encryption`
/// (getmoto/moto#6300, #6303); a source under KMS while the bucket says otherwise:
/// `…_in_place_with_encryption` ("without-kms-sse"); a restored archive: LocalStack's `provider.py`, not recorded; an
/// older version: `…_in_place_versioned`. An ACL alone, tags or a checksum algorithm change nothing that counts:
/// `test_s3_copy_object_in_place`. The preconditions come first: not recorded, as LocalStack does it.
/// Kept and lost: `test_s3_copy_tagging_directive`, `test_s3_copy_object_retention_lock`, `…_legal_hold`,
/// `…_with_default_checksum`; ACL, class, redirect: botocore's model, CopyObjectRequest. Tags without permission:
/// AWS knowledge center, "s3-troubleshoot-copy-between-buckets". Over 5 GB: botocore's model, the text is not recorded.
extension S3State {
    static let copyLimit = 5 << 30

    mutating func copyObject(_ call: Call) throws(S3Error) -> S3Reply {
        let request = call.request
        try call.who.require("s3:PutObject", call.key)
        let (bucket, key, source) = try copySource(call)
        let replaces = try directive(request, "x-amz-metadata-directive")
        let isSelf = bucket == request.bucket && key == call.key
        try CopyConditions(request: request).check(source, now: call.now)
        try checkWriteConditions(request, call.key, request.bucket)
        if isSelf { try checkChange(request, source, key, replaces: replaces) }
        guard source.size <= Self.copyLimit else {
            throw S3Error(
                400, "InvalidRequest",
                "The specified copy source is larger than the maximum allowable size for a copy source: 5368709120")
        }
        var copy = try copy(of: source, call, replaces: replaces)
        copy.selfCopies = isSelf ? source.selfCopies + 1 : 0
        var reply = written(&copy, call.key, request.bucket)
        reply.fields.removeAll { $0.name == "ETag" }
        if self[bucket: bucket].versioning != nil { reply.add("x-amz-copy-source-version-id", source.versionID) }
        let checksum = copy.checksum.map { XMLText.element("ChecksumSHA256", $0) } ?? ""
        let result = S3Reply(
            200,
            xml: "<CopyObjectResult\(XMLText.namespace)>" + XMLText.element("ETag", copy.entityTag)
                + XMLText.element("LastModified", S3Timestamp(copy.lastModified).iso) + checksum
                + "</CopyObjectResult>",
            fields: reply.fields)
        reply = result
        reply.isChunked = true
        return reply
    }

    /// The object that `x-amz-copy-source` names, if it may be read.
    mutating func copySource(_ call: Call) throws(S3Error) -> (bucket: String, key: String, StoredVersion) {
        let text = call.request.field("x-amz-copy-source") ?? ""
        let parts = text.split(separator: "?", maxSplits: 1)
        var path = (PercentText.decoded((parts.first ?? "").replacing("+", with: "%20")) ?? "")[...]
        if path.hasPrefix("/") { path = path.dropFirst() }
        let names = path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard names.count == 2, !names[1].isEmpty else {
            throw .invalidArgument("Invalid copy source object key", "x-amz-copy-source", "x-amz-copy-source")
        }
        guard buckets[names[0]] != nil else { throw .noSuchBucket(names[0]) }
        expire(names[0], names[1], now: call.now)
        let query = parts.count > 1 ? "?\(parts[1])" : ""
        let source = S3Request(method: "GET", target: "/\(names[0])/source\(query)", fields: [])
        let found = try find(
            Call(request: source, key: names[1], who: call.who, now: call.now), action: "s3:GetObject")
        guard !found.isArchived else { throw Self.archived(found) }
        try call.who.requireKey(of: found)
        if case .customer(let md5) = found.encryption,
            call.request.field("x-amz-copy-source-server-side-encryption-customer-key-md5") != md5
        {
            throw S3Error(
                400, "InvalidRequest",
                "The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve the object."
            )
        }
        return (names[0], names[1], found)
    }

    private func checkChange(
        _ request: S3Request, _ source: StoredVersion, _ key: String, replaces: Bool
    ) throws(S3Error) {
        let bucket = self[bucket: request.bucket]
        let isKMS = if case .kms = source.encryption { true } else { false }
        let changes = [
            replaces, !bucket.refusesSelfCopy && request.field("x-amz-storage-class") != nil,
            request.field("x-amz-website-redirect-location") != nil,
            request.field("x-amz-server-side-encryption") != nil,
            request.field("x-amz-server-side-encryption-customer-algorithm") != nil, bucket.encryption != nil,
            isKMS, source.isRestored, source.versionID != bucket.current(key)?.versionID,
        ]
        guard !changes.contains(true) else { return }
        throw S3Error(
            400, "InvalidRequest",
            "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes."
        )
    }

    private func copy(
        of source: StoredVersion, _ call: Call, replaces: Bool
    ) throws(S3Error) -> StoredVersion {
        let request = call.request
        // ACL, class, redirect and encryption are what the request says; a lock and the parts do not come along.
        var copy = try version(from: request, call)
        copy.bytes = source.bytes
        copy.pretendedSize = source.pretendedSize
        copy.checksum = source.checksum
        if !replaces {
            copy.systemMetadata = source.systemMetadata
            copy.userMetadata = source.userMetadata
        }
        if try !directive(request, "x-amz-tagging-directive") {
            copy.tags = source.tags
            if !source.tags.isEmpty {
                try call.who.require("s3:GetObjectTagging", call.key)
                try call.who.require("s3:PutObjectTagging", call.key)
            }
        }
        return copy
    }

    /// - Returns: whether it says REPLACE.
    private func directive(_ request: S3Request, _ name: String) throws(S3Error) -> Bool {
        switch request.field(name) {
        case nil, "COPY": return false
        case "REPLACE": return true
        case .some(let other): throw .invalidArgument("Unknown directive.", name, other)
        }
    }
}

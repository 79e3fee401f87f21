import Foundation

/// ListObjectsV2.
///
/// Source: S3 API Reference, ListObjectsV2: keys in the order of their UTF-8 bytes, `encoding-type=url`, at most 1,000.
extension S3State {
    mutating func listObjects(_ call: Call) throws(S3Error) -> S3Reply {
        try call.who.require("s3:ListBucket")
        let request = call.request
        expireAll(now: call.now)
        let prefix = request.parameter("prefix") ?? ""
        let delimiter = request.parameter("delimiter") ?? ""
        let most = min(1000, request.parameter("max-keys").flatMap { Int($0) } ?? 1000)
        let token = request.parameter("continuation-token")
        let after =
            token.flatMap { Data(base64Encoded: $0) }.map { String(decoding: $0, as: UTF8.self) }
            ?? request.parameter("start-after")
        guard (token == nil) == (token.flatMap { Data(base64Encoded: $0) } == nil) else {
            throw .invalidArgument("The continuation token provided is incorrect", "continuation-token", token ?? "")
        }
        let keys = self[bucket: request.bucket].keys()
        let bucket = self[bucket: request.bucket]
        var contents: [String] = []
        var groups: [String] = []
        var last: String?
        var isTruncated = false
        let encodes = request.parameter("encoding-type") == "url"
        func name(_ key: String) -> String { encodes ? PercentText.encoded(key, keepingSlashes: true) : key }
        for key in keys where key.hasPrefix(prefix) {
            if let after, !after.utf8.lexicographicallyPrecedes(key.utf8) { continue }
            guard let version = bucket.current(key) else { continue }
            let rest = key.dropFirst(prefix.count)
            let group =
                delimiter.isEmpty
                ? nil
                : rest.firstRange(of: delimiter).map {
                    prefix + rest[..<$0.upperBound]
                }
            if let group, groups.last == group || after?.hasPrefix(group) == true {
                last = key
                continue
            }
            guard contents.count + groups.count < most else {
                isTruncated = true
                break
            }
            last = key
            if let group {
                groups.append(group)
                continue
            }
            contents.append(
                "<Contents>" + XMLText.element("Key", name(key))
                    + XMLText.element("LastModified", S3Timestamp(version.lastModified).iso)
                    + XMLText.element("ETag", version.entityTag) + XMLText.element("Size", String(version.size))
                    + XMLText.element("StorageClass", version.storageClass) + "</Contents>")
        }
        let next =
            isTruncated
            ? XMLText.element("NextContinuationToken", Data((last ?? "").utf8).base64EncodedString()) : ""
        let common = groups.map { "<CommonPrefixes>\(XMLText.element("Prefix", name($0)))</CommonPrefixes>" }
        return S3Reply(
            200,
            xml: "<ListBucketResult\(XMLText.namespace)>" + XMLText.element("Name", request.bucket)
                + XMLText.element("Prefix", name(prefix)) + XMLText.element("MaxKeys", String(most))
                + XMLText.element("KeyCount", String(contents.count + groups.count))
                + (encodes ? XMLText.element("EncodingType", "url") : "")
                + XMLText.element("IsTruncated", isTruncated ? "true" : "false") + next + contents.joined()
                + common.joined() + "</ListBucketResult>")
    }
}

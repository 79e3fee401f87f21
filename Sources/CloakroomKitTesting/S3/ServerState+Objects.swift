import CloakroomAWS
import CloakroomCrypto
import CloakroomKit
import Foundation

extension ServerState {
    static func entityTag(_ bytes: Data) -> String { "\"\(MD5.hash(bytes).hexadecimal)\"" }

    mutating func store(_ bytes: Data, at key: String, fields: [String: String], entityTag: String? = nil) {
        objects[key] = TestObject(
            bytes: bytes, entityTag: entityTag ?? Self.entityTag(bytes), lastModified: now, fields: fields)
    }

    static func kept(_ fields: [String: String]) -> [String: String] {
        fields.filter { ["content-type", "cache-control"].contains($0.key) || $0.key.hasPrefix("x-amz-meta-") }
    }

    /// - Throws: where a condition of a write does not hold.
    func checkConditions(_ call: ServerCall, _ key: String) throws(S3Refusal) {
        let createsOnly = call.fields["if-none-match"] == "*" || call.query["If-None-Match"] == "*"
        if createsOnly, objects[key] != nil { throw .preconditionFailed }
        if let tag = call.fields["if-match"], objects[key]?.entityTag != tag { throw .preconditionFailed }
    }

    mutating func put(_ call: ServerCall, _ key: String) throws(S3Refusal) -> HTTPResponse {
        try checkConditions(call, key)
        store(call.body, at: key, fields: Self.kept(call.fields))
        return HTTPResponse(status: 200, fields: [("ETag", Self.entityTag(call.body))])
    }

    func get(_ call: ServerCall, _ key: String) throws(S3Refusal) -> HTTPResponse {
        guard let object = objects[key] else { throw S3Refusal(status: 404, code: "NoSuchKey") }
        if let tag = call.fields["if-match"], tag != object.entityTag { throw .preconditionFailed }
        var fields = object.fields.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        fields += [
            ("ETag", object.entityTag), ("Last-Modified", Timestamp(object.lastModified).http),
            ("Accept-Ranges", "bytes"),
        ]
        let count = object.bytes.count
        guard call.request.method == "GET" else {
            return HTTPResponse(status: 200, fields: fields + [("Content-Length", String(count))])
        }
        guard let text = call.fields["range"] else {
            return HTTPResponse(status: 200, fields: fields + [("Content-Length", String(count))], body: object.bytes)
        }
        guard let range = Self.range(text, of: count) else { throw S3Refusal(status: 416, code: "InvalidRange") }
        fields += [
            ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(count)"),
            ("Content-Length", String(range.count)),
        ]
        return HTTPResponse(status: 206, fields: fields, body: object.bytes.subdata(in: range))
    }

    /// - Returns: `nil` for one that begins behind the end.
    private static func range(_ text: String, of count: Int) -> Range<Int>? {
        let bounds = text.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2, let first = Int(bounds[0]), first < count else { return nil }
        let last = min(Int(bounds[1]) ?? .max, count - 1)
        return first <= last ? first..<last + 1 : nil
    }

    /// What anybody may read.
    func readAsset(_ call: ServerCall) -> HTTPResponse {
        do throws(S3Refusal) {
            guard call.operation == .readAsset, let key = call.key, Self.isAsset(key) else { throw .accessDenied }
            return try get(call, key)
        } catch {
            return Self.s3Error(error.status, error.code, error.message, isHead: call.request.method == "HEAD")
        }
    }

    /// In the order of the keys' bytes, as S3 has it.
    func list(_ call: ServerCall) -> HTTPResponse {
        let prefix = call.query["prefix"] ?? ""
        let token = call.query["continuation-token"].flatMap { Data(base64Encoded: $0) }
        let after = token.map { String(decoding: $0, as: UTF8.self) } ?? call.query["start-after"] ?? ""
        let keys = objects.keys.filter { $0.hasPrefix(prefix) && after.utf8.lexicographicallyPrecedes($0.utf8) }
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let most = min(call.query["max-keys"].flatMap { Int($0) } ?? 1000, options.pageSize, 1000)
        let page = keys.prefix(max(1, most))
        let contents = page.map { key in
            let object = objects[key]
            return "<Contents><Key>\(PercentEncoding.encode(key, keepingSlashes: true))</Key>"
                + "<LastModified>\(object.map { Timestamp($0.lastModified).iso8601 } ?? "")</LastModified>"
                + "<ETag>\(object?.entityTag ?? "")</ETag><Size>\(object?.bytes.count ?? 0)</Size>"
                + "<StorageClass>STANDARD</StorageClass></Contents>"
        }
        let isTruncated = keys.count > page.count
        let last = Data((page.last ?? "").utf8).base64EncodedString()
        let next = isTruncated ? "<NextContinuationToken>\(last)</NextContinuationToken>" : ""
        return Self.xml(
            "<ListBucketResult><EncodingType>url</EncodingType><KeyCount>\(page.count)</KeyCount>"
                + "<IsTruncated>\(isTruncated)</IsTruncated>\(next)\(contents.joined())</ListBucketResult>")
    }
}

import CloakroomCrypto
import CloakroomKit
import CloakroomKitTesting
import Foundation

/// A bucket in memory that speaks enough of S3 for a backup: PUT with `If-None-Match`, HEAD, GET with a range, listing,
/// uploads in parts. Whatever comes first goes through `gate`, which may respond in its place.
actor FakeS3: HTTPTransport {
    struct Object: Sendable, Equatable {
        var bytes: Data
        var fields: [String: String] = [:]
        var entityTag: String

        init(_ bytes: Data, _ fields: [String: String] = [:], entityTag: String? = nil) {
            self.bytes = bytes
            self.fields = fields
            self.entityTag = entityTag ?? "\"\(MD5.hash(bytes).hexadecimal)\""
        }
    }

    typealias GateKeeper = @Sendable (_ method: String, _ key: String, HTTPRequest) async throws -> HTTPResponse?

    private(set) var objects: [String: Object] = [:]
    /// Method and path of what came, such as `PUT /photos/…`; without queries.
    private(set) var lines: [String] = []
    private var uploads: [String: (key: String, fields: [String: String], parts: [Int: Object])] = [:]
    private let gate: GateKeeper
    static let bucket = "bucket"
    private let pageSize: Int
    /// Of all pages of listings that were sent.
    private(set) var listingBytes = 0
    /// Told with every object that is stored or read.
    private var encryption: [(name: String, value: String)] = []

    init(pageSize: Int = 3, _ gate: @escaping GateKeeper = { _, _, _ in nil }) {
        self.pageSize = pageSize
        self.gate = gate
    }

    func put(_ key: String, _ bytes: Data, _ fields: [String: String] = [:]) { objects[key] = Object(bytes, fields) }

    func delete(_ key: String) { objects[key] = nil }

    /// Encrypts what is put from now on, with a key of KMS or of its owner: the entity tags are as long as an MD5, and none.
    func encrypt(_ fields: [(name: String, value: String)]) { encryption = fields }

    private func entityTag(_ bytes: Data) -> String {
        Object(encryption.isEmpty ? bytes : Data("key".utf8) + bytes).entityTag
    }

    func send(
        _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(HTTPTransportError) -> HTTPResponse {
        let components = URLComponents(url: request.url, resolvingAgainstBaseURL: false)
        let key = String(request.url.path.dropFirst(Self.bucket.count + 2))
        lines.append("\(request.method) \(key)")
        do {
            if let response = try await gate(request.method, key, request) { return response }
        } catch let error as HTTPTransportError {
            throw error
        } catch {
            throw .cancelled
        }
        let body = try request.body.contents()
        var query: [String: String] = [:]
        for item in components?.queryItems ?? [] { query[item.name] = item.value ?? "" }
        let response = response(request, key, query, body)
        progress?(HTTPProgress(bytesSent: Int64(body.count)))
        return try response.delivered(to: request.destination)
    }

    private func response(_ request: HTTPRequest, _ key: String, _ query: [String: String], _ body: Data)
        -> HTTPResponse
    {
        var fields: [String: String] = [:]
        for field in request.fields { fields[field.name.lowercased()] = field.value }
        if let sum = fields["content-md5"], sum != Data(MD5.hash(body)).base64EncodedString() {
            return Self.error(400, "BadDigest")
        }
        let kept = fields.filter { $0.key.hasPrefix("x-amz-meta-") || $0.key == "content-type" }
        switch (request.method, query["uploadId"]) {
        case ("GET", nil) where key.isEmpty: return list(query)
        case ("POST", nil):
            let id = "upload-\(uploads.count)"
            uploads[id] = (key, kept, [:])
            return Self.xml("<InitiateMultipartUploadResult><UploadId>\(id)</UploadId></InitiateMultipartUploadResult>")
        case ("PUT", let id?):
            let part = Object(body)
            uploads[id]?.parts[Int(query["partNumber"] ?? "") ?? 0] = part
            return HTTPResponse(status: 200, fields: [("ETag", part.entityTag)])
        case ("GET", let id?): return parts(id)
        case ("POST", let id?): return complete(id)
        case ("DELETE", let id?):
            uploads[id] = nil
            return HTTPResponse(status: 204)
        case ("PUT", nil):
            if fields["if-none-match"] == "*", objects[key] != nil { return Self.error(412, "PreconditionFailed") }
            objects[key] = Object(body, kept, entityTag: entityTag(body))
            return HTTPResponse(status: 200, fields: [("ETag", entityTag(body))] + encryption)
        case ("GET", nil), ("HEAD", nil): return read(request.method, key, fields["range"])
        default: return Self.error(405, "MethodNotAllowed")
        }
    }

    private func read(_ method: String, _ key: String, _ range: String?) -> HTTPResponse {
        guard let object = objects[key] else {
            return method == "HEAD" ? HTTPResponse(status: 404) : Self.error(404, "NoSuchKey")
        }
        var fields = object.fields.map { (name: $0.key, value: $0.value) }
        fields += [("ETag", object.entityTag), ("Last-Modified", "Fri, 20 Nov 2026 14:00:00 GMT")] + encryption
        guard method == "GET" else {
            return HTTPResponse(status: 200, fields: fields + [("Content-Length", "\(object.bytes.count)")])
        }
        guard let bounds = range?.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false) else {
            return HTTPResponse(
                status: 200, fields: fields + [("Content-Length", "\(object.bytes.count)")], body: object.bytes)
        }
        let first = Int(bounds[0]) ?? 0
        guard first < object.bytes.count else { return Self.error(416, "InvalidRange") }
        let last = min(Int(bounds[1]) ?? .max, object.bytes.count - 1)
        fields += [
            ("Content-Range", "bytes \(first)-\(last)/\(object.bytes.count)"),
            ("Content-Length", "\(last - first + 1)"),
        ]
        return HTTPResponse(status: 206, fields: fields, body: object.bytes.subdata(in: first..<last + 1))
    }

    private func list(_ query: [String: String]) -> HTTPResponse {
        let start = query["continuation-token"] ?? ""
        let keys = objects.keys.filter { $0.hasPrefix(query["prefix"] ?? "") && $0 > start }.sorted()
        let page = keys.prefix(pageSize)
        let contents = page.map { key in
            "<Contents><Key>\(key)</Key><LastModified>2026-11-20T14:00:00.000Z</LastModified>"
                + "<ETag>\(objects[key]?.entityTag ?? "")</ETag><Size>\(objects[key]?.bytes.count ?? 0)</Size>"
                + "<StorageClass>STANDARD</StorageClass></Contents>"
        }
        let next = keys.count > page.count ? "<NextContinuationToken>\(page.last ?? "")</NextContinuationToken>" : ""
        let response = Self.xml(
            "<ListBucketResult><IsTruncated>\(keys.count > page.count)</IsTruncated>\(contents.joined())\(next)"
                + "</ListBucketResult>")
        listingBytes += response.body.count
        return response
    }

    private func parts(_ id: String) -> HTTPResponse {
        guard let upload = uploads[id] else { return Self.error(404, "NoSuchUpload") }
        let parts = upload.parts.sorted { $0.key < $1.key }.map {
            "<Part><PartNumber>\($0.key)</PartNumber><ETag>\($0.value.entityTag)</ETag>"
                + "<Size>\($0.value.bytes.count)</Size></Part>"
        }
        return Self.xml("<ListPartsResult><IsTruncated>false</IsTruncated>\(parts.joined())</ListPartsResult>")
    }

    private func complete(_ id: String) -> HTTPResponse {
        guard let upload = uploads.removeValue(forKey: id) else { return Self.error(404, "NoSuchUpload") }
        let parts = upload.parts.sorted { $0.key < $1.key }.map(\.value)
        let sums = parts.flatMap { MD5.hash($0.bytes) }
        let tag = "\"\(MD5.hash(sums).hexadecimal)-\(parts.count)\""
        objects[upload.key] = Object(Data(parts.flatMap(\.bytes)), upload.fields, entityTag: tag)
        return Self.xml("<CompleteMultipartUploadResult><ETag>\(tag)</ETag></CompleteMultipartUploadResult>")
    }

    static func error(_ status: Int, _ code: String) -> HTTPResponse {
        HTTPResponse(status: status, body: Data("<Error><Code>\(code)</Code><Message>no</Message></Error>".utf8))
    }

    private static func xml(_ text: String) -> HTTPResponse { HTTPResponse(status: 200, body: Data(text.utf8)) }
}

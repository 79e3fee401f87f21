import CloakroomCrypto
import CloakroomKit
import Foundation

/// A bucket in memory that speaks as much of S3 as tiers need. Of photos it keeps the digest and not the bytes.
actor MemoryS3: HTTPTransport {
    static let bucket = "bench"
    // A name that is not resolved: nothing is sent.
    static let endpoint = URL(string: "http://127.0.0.1:1") ?? URL(fileURLWithPath: "/")

    private struct Object {
        var bytes: Data?
        var byteCount: Int
        var entityTag: String
        var fields: [(name: String, value: String)]
        var modified: Date
    }

    private var objects: [String: Object] = [:]
    /// In S3's order; `nil` after a change.
    private var sortedKeys: [String]?

    /// A photo that nobody stored through this.
    func seed(_ key: String, md5: [UInt8], sha256: [UInt8], byteCount: Int) {
        objects[key] = Object(
            bytes: nil, byteCount: byteCount, entityTag: "\"\(md5.hexadecimal)\"",
            fields: [("x-amz-meta-sha256", sha256.hexadecimal)], modified: Date())
        sortedKeys = nil
    }

    func count(below prefix: String) -> Int { objects.keys.count { $0.hasPrefix(prefix) } }

    func send(
        _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(HTTPTransportError) -> HTTPResponse {
        let key = String(request.url.path.dropFirst(Self.bucket.count + 2))
        switch (request.method, request.destination) {
        case ("PUT", _):
            guard let body = try? Self.bytes(request.body) else { throw .unreadableFile }
            return dated(put(key, body, request))
        case ("GET", _) where key.isEmpty: return dated(list(request))
        case ("GET", .memory), ("HEAD", _): return dated(read(key, request.method))
        case ("DELETE", _):
            if objects.removeValue(forKey: key) != nil { sortedKeys = nil }
            return dated(HTTPResponse(status: 204))
        default: return dated(Self.error(501, "NotImplemented"))
        }
    }

    private func put(_ key: String, _ body: Data, _ request: HTTPRequest) -> HTTPResponse {
        var fields: [(name: String, value: String)] = []
        for (name, value) in request.fields {
            switch name.lowercased() {
            case "if-none-match" where value == "*" && objects[key] != nil:
                return Self.error(412, "PreconditionFailed")
            case let name where name.hasPrefix("x-amz-meta-"): fields.append((name, value))
            default: break
            }
        }
        let tag = "\"\(MD5.hash(body).hexadecimal)\""
        if objects[key] == nil { sortedKeys = nil }
        objects[key] = Object(
            bytes: key.hasPrefix("photos/") ? nil : body, byteCount: body.count, entityTag: tag, fields: fields,
            modified: Date())
        return HTTPResponse(status: 200, fields: [("ETag", tag)])
    }

    private func read(_ key: String, _ method: String) -> HTTPResponse {
        guard let object = objects[key] else {
            return method == "HEAD" ? HTTPResponse(status: 404) : Self.error(404, "NoSuchKey")
        }
        let fields =
            object.fields + [
                ("ETag", object.entityTag), ("Content-Length", "\(object.byteCount)"),
                ("Last-Modified", Self.httpDate(object.modified)),
            ]
        guard method == "GET" else { return HTTPResponse(status: 200, fields: fields) }
        guard let bytes = object.bytes else { return Self.error(501, "NotImplemented") }
        return HTTPResponse(status: 200, fields: fields, body: bytes)
    }

    private func list(_ request: HTTPRequest) -> HTTPResponse {
        var query: [String: String] = [:]
        for item in URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? [] {
            query[item.name] = item.value
        }
        let keys = sortedKeys ?? objects.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        sortedKeys = keys
        let prefix = query["prefix"] ?? ""
        let after = query["continuation-token"] ?? query["start-after"] ?? ""
        // Of the keys from the prefix on, those that have it come first.
        let start = keys.partitioningIndex { after.isEmpty ? $0 >= prefix : $0 > after }
        let page = keys[start...].prefix(1001).prefix { $0.hasPrefix(prefix) }
        let contents = page.prefix(1000).compactMap { key in objects[key].map { Self.entry(key, $0) } }
        let isTruncated = page.count > 1000
        let next = isTruncated ? page[page.startIndex + 999] : nil
        return HTTPResponse(
            status: 200,
            body: Data(
                ("<ListBucketResult><IsTruncated>\(isTruncated)</IsTruncated>\(contents.joined())"
                    + (next.map { "<NextContinuationToken>\($0)</NextContinuationToken>" } ?? "")
                    + "</ListBucketResult>").utf8))
    }

    private static func entry(_ key: String, _ object: Object) -> String {
        "<Contents><Key>\(key)</Key><LastModified>\(object.modified.formatted(.iso8601))</LastModified>"
            + "<ETag>\(object.entityTag)</ETag><Size>\(object.byteCount)</Size><StorageClass>STANDARD</StorageClass>"
            + "</Contents>"
    }

    private func dated(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.fields.append(("Date", Self.httpDate(Date())))
        return response
    }

    private static func error(_ status: Int, _ code: String) -> HTTPResponse {
        HTTPResponse(status: status, body: Data("<Error><Code>\(code)</Code><Message>no</Message></Error>".utf8))
    }

    private static func bytes(_ body: HTTPBody) throws -> Data {
        switch body {
        case .none: return Data()
        case .bytes(let data): return data
        case .file(let url, let range):
            let file = try FileHandle(forReadingFrom: url)
            defer { try? file.close() }
            try file.seek(toOffset: UInt64(range.lowerBound))
            return try file.read(upToCount: range.count) ?? Data()
        }
    }

    /// As in `Date: Mon, 23 Nov 2026 11:00:00 GMT` (RFC 9110 §5.6.7).
    private static func httpDate(_ date: Date) -> String {
        var time = time_t(date.timeIntervalSince1970)
        var parts = tm()
        gmtime_r(&time, &parts)
        var text = [CChar](repeating: 0, count: 40)
        strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    }
}

extension [String] {
    /// Where the elements begin of which this is true, as of all after them.
    fileprivate func partitioningIndex(where isAfter: (String) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isAfter(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

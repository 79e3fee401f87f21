import CloakroomCrypto
import CloakroomKit
import CloakroomKitTesting
import Foundation
import Testing

/// A bucket in memory behind ``ScriptedHTTP``: enough of S3 for the kit's client, with faults where a test wants them.
///
/// It checks `Content-MD5` and conditions as S3 does, and holds requests to what S3 wants of them.
actor MemoryS3 {
    struct Object: Equatable {
        var bytes: Data
        var entityTag: String
        var fields: [String: String] = [:]
    }

    struct Upload {
        let key: String
        let fields: [String: String]
        var parts: [Int: Data] = [:]
    }

    /// What happens to the first request whose line has this text.
    struct InjectedFault {
        let text: String
        let step: ScriptedHTTP.Step
        /// The request is carried out, and only its response is lost.
        var isAfterwards = false
    }

    var objects: [String: Object] = [:]
    var uploads: [String: Upload] = [:]
    /// Stored with every object, and told with it; `aws:kms` makes entity tags that are no MD5.
    var encryption: String?
    private var injectedFaults: [InjectedFault] = []
    private var lastUpload = 0
    private var partObserver: (@Sendable () -> Void)?

    func inject(_ text: String, _ step: ScriptedHTTP.Step, afterwards: Bool = false, times: Int = 1) {
        for _ in 0..<times { injectedFaults.append(InjectedFault(text: text, step: step, isAfterwards: afterwards)) }
    }

    func store(_ key: String, _ bytes: Data, tag: String? = nil, fields: [String: String] = [:]) {
        objects[key] = Object(bytes: bytes, entityTag: tag ?? "\"\(MD5.hash(bytes).hexadecimal)\"", fields: fields)
    }

    /// Called with every part that comes.
    func onPart(_ body: @escaping @Sendable () -> Void) { partObserver = body }

    func spoilPart(_ number: Int, of upload: String) { uploads[upload]?.parts[number]?[0] ^= 1 }

    func spoil(_ key: String) { objects[key]?.bytes[0] ^= 1 }

    func forgetUploads() { uploads = [:] }

    func forgetInjectedFaults() { injectedFaults = [] }

    func set(_ field: String, _ value: String, of key: String) { objects[key]?.fields[field] = value }

    func delete(_ key: String) { objects[key] = nil }

    func encrypt(_ name: String) { encryption = name }

    nonisolated func http() -> ScriptedHTTP { ScriptedHTTP { request, _ in await self.response(request) } }

    func response(_ request: HTTPRequest) -> ScriptedHTTP.Step {
        let line = "\(request.method) \(request.url.absoluteString)"
        guard let index = injectedFaults.firstIndex(where: { line.contains($0.text) }) else { return perform(request) }
        let injectedFault = injectedFaults.remove(at: index)
        if injectedFault.isAfterwards { _ = perform(request) }
        return injectedFault.step
    }

    private struct Call {
        let key: String
        let query: [String: String]
        let fields: [String: String]
        let body: Data
    }

    private func perform(_ request: HTTPRequest) -> ScriptedHTTP.Step {
        let parts = URLComponents(url: request.url, resolvingAgainstBaseURL: false)
        var query: [String: String] = [:]
        for item in parts?.queryItems ?? [] { query[item.name] = item.value ?? "" }
        var fields: [String: String] = [:]
        for field in request.fields { fields[field.name.lowercased()] = field.value }
        guard fields["authorization"]?.hasPrefix("AWS4-HMAC-SHA256 ") == true else {
            return Self.error(403, "AccessDenied")
        }
        let path = (parts?.path ?? "").dropFirst(1)
        let slash = path.firstIndex(of: "/") ?? path.endIndex
        let call = Call(
            key: String(path[slash...].dropFirst()), query: query, fields: fields,
            body: (try? request.body.contents()) ?? Data())
        switch request.method {
        case "PUT": return put(call)
        case "GET" where call.key.isEmpty: return list(call)
        case "GET" where query["uploadId"] != nil: return listParts(call)
        case "GET", "HEAD": return get(call, hasBody: request.method == "GET")
        case "POST": return post(call)
        default:
            if let id = query["uploadId"] {
                guard uploads.removeValue(forKey: id) != nil else { return Self.error(404, "NoSuchUpload") }
            } else {
                objects[call.key] = nil
            }
            return .response(204)
        }
    }

    private func put(_ call: Call) -> ScriptedHTTP.Step {
        let md5 = Data(MD5.hash(call.body))
        guard call.fields["content-md5"] == md5.base64EncodedString() else { return Self.error(400, "BadDigest") }
        if let id = call.query["uploadId"], let number = call.query["partNumber"].flatMap({ Int($0) }) {
            guard uploads[id] != nil else { return Self.error(404, "NoSuchUpload") }
            uploads[id]?.parts[number] = call.body
            partObserver?()
            return .response(200, [("ETag", "\"\(tag(call.body))\"")] + encryptionFields)
        }
        if let refusal = refusal(call) { return refusal }
        store(call.key, call.body, tag: "\"\(tag(call.body))\"", fields: Self.kept(call.fields))
        return .response(200, told(objects[call.key]))
    }

    private func tag(_ bytes: Data) -> String {
        encryption == "aws:kms" ? MD5.hash(Array("key".utf8) + bytes).hexadecimal : MD5.hash(bytes).hexadecimal
    }

    private func refusal(_ call: Call) -> ScriptedHTTP.Step? {
        if call.fields["if-none-match"] == "*", objects[call.key] != nil {
            return Self.error(412, "PreconditionFailed")
        }
        if let tag = call.fields["if-match"], objects[call.key]?.entityTag != tag {
            return Self.error(412, "PreconditionFailed")
        }
        return nil
    }

    private static func kept(_ fields: [String: String]) -> [String: String] {
        fields.filter { $0.key == "content-type" || $0.key.hasPrefix("x-amz-meta-") }
    }

    private func told(_ object: Object?) -> [(name: String, value: String)] {
        guard let object else { return [] }
        let fields = object.fields.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        let date = object.fields["Last-Modified"] == nil ? [("Last-Modified", "Fri, 20 Nov 2026 14:00:00 GMT")] : []
        return [("ETag", object.entityTag)] + date + fields + encryptionFields
    }

    private var encryptionFields: [(name: String, value: String)] {
        encryption.map { [(name: "x-amz-server-side-encryption", value: $0)] } ?? []
    }

    private func get(_ call: Call, hasBody: Bool) -> ScriptedHTTP.Step {
        guard let object = objects[call.key] else {
            return hasBody ? Self.error(404, "NoSuchKey") : .response(404)
        }
        if let tag = call.fields["if-match"], tag != object.entityTag { return Self.error(412, "PreconditionFailed") }
        let count = object.bytes.count
        guard hasBody, let range = call.fields["range"] else {
            return .response(
                200, told(object) + [("Content-Length", String(count))], hasBody ? object.bytes : Data())
        }
        let ends = range.dropFirst("bytes=".count).split(separator: "-").map { Int($0) ?? 0 }
        guard ends[0] < count else { return Self.error(416, "InvalidRange") }
        let last = min(ends.count > 1 ? ends[1] : .max, count - 1)
        let bytes = Data(object.bytes[ends[0]...last])
        return .response(
            206,
            told(object) + [
                ("Content-Length", String(bytes.count)), ("Content-Range", "bytes \(ends[0])-\(last)/\(count)"),
            ], bytes)
    }

    private func post(_ call: Call) -> ScriptedHTTP.Step {
        guard let id = call.query["uploadId"] else {
            lastUpload += 1
            uploads["u\(lastUpload)"] = Upload(key: call.key, fields: Self.kept(call.fields))
            return Self.xml(
                "<InitiateMultipartUploadResult><UploadId>u\(lastUpload)</UploadId></InitiateMultipartUploadResult>")
        }
        guard let upload = uploads[id] else { return Self.error(404, "NoSuchUpload") }
        if let refusal = refusal(call) { return refusal }
        var bytes = Data()
        var sums: [UInt8] = []
        let text = String(decoding: call.body, as: UTF8.self)
        for part in text.matches(of: /<PartNumber>(\d+)<\/PartNumber><ETag>(?:"|&quot;)(\w+)(?:"|&quot;)<\/ETag>/) {
            guard let stored = upload.parts[Int(part.1) ?? 0], tag(stored) == part.2 else {
                return Self.error(400, "InvalidPart")
            }
            bytes += stored
            sums += MD5.hash(stored)
        }
        uploads[id] = nil
        let tag = "\"\(MD5.hash(sums).hexadecimal)-\(sums.count / 16)\""
        store(upload.key, bytes, tag: encryption == "aws:kms" ? "\"kms-1\"" : tag, fields: upload.fields)
        return Self.xml(
            "<CompleteMultipartUploadResult><ETag>\(tag)</ETag></CompleteMultipartUploadResult>")
    }

    private func listParts(_ call: Call) -> ScriptedHTTP.Step {
        guard let upload = uploads[call.query["uploadId"] ?? ""] else { return Self.error(404, "NoSuchUpload") }
        let parts = upload.parts.sorted { $0.key < $1.key }.map {
            "<Part><PartNumber>\($0.key)</PartNumber><ETag>&quot;\(tag($0.value))&quot;</ETag>"
                + "<Size>\($0.value.count)</Size></Part>"
        }
        return Self.xml("<ListPartsResult><IsTruncated>false</IsTruncated>\(parts.joined())</ListPartsResult>")
    }

    /// Two at a time.
    private func list(_ call: Call) -> ScriptedHTTP.Step {
        let start = call.query["continuation-token"] ?? ""
        let found = objects.filter { $0.key.hasPrefix(call.query["prefix"] ?? "") && $0.key > start }
            .sorted { $0.key < $1.key }
        let contents = found.prefix(2).map {
            "<Contents><Key>\($0.key)</Key><LastModified>2026-11-20T14:00:00.000Z</LastModified>"
                + "<ETag>\($0.value.entityTag)</ETag><Size>\($0.value.bytes.count)</Size></Contents>"
        }
        let more =
            found.count > 2
            ? "<IsTruncated>true</IsTruncated><NextContinuationToken>\(found[1].key)</NextContinuationToken>"
            : "<IsTruncated>false</IsTruncated>"
        return Self.xml("<ListBucketResult>\(more)\(contents.joined())</ListBucketResult>")
    }

    static func error(_ status: Int, _ code: String) -> ScriptedHTTP.Step {
        .response(
            status, [("Content-Type", "application/xml")],
            Data("<Error><Code>\(code)</Code><Message>no</Message></Error>".utf8))
    }

    private static func xml(_ text: String) -> ScriptedHTTP.Step {
        .response(200, [("Content-Type", "application/xml")], Data(text.utf8))
    }
}

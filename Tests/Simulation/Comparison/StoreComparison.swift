import CloakroomHTTP
import CloakroomKitTestSupport
import CloakroomLoop
import Foundation

@testable import CloakroomAWS
@testable import CloakroomScriptedS3

/// Random operations on an S3 server and on the scripted one, in the forms that the worker and the kit send.
///
/// The keys are few, so that conditions, copies and listings find what others left.
@LoopActor
struct StoreComparison {
    private let comparison: Comparison
    private let pair: StorePair
    private var random: SeededGenerator
    /// What follows a difference begins with an empty folder.
    private var folders = 0
    private var tags: [String: OnBothSides<String>] = [:]
    private var uploads: [Upload] = []

    private struct Upload {
        let key: String
        let ids: OnBothSides<String>
        var parts: [Int: OnBothSides<String>] = [:]
    }

    private static let names = ["a/1", "a/2", "a/b/3", "b/ü +&.jpg", "c"]
    private static let noTag = "\"00000000000000000000000000000000\""

    init(_ comparison: Comparison) throws {
        self.comparison = comparison
        pair = try StorePair(comparison.options.server, environment: ProcessInfo.processInfo.environment)
        random = SeededGenerator(seed: comparison.options.seed)
    }

    mutating func run() throws -> Int32 {
        for _ in 0..<comparison.options.operations {
            comparison.begin()
            step()
        }
        return try comparison.finish()
    }

    private var prefix: String { "e\(comparison.options.seed)-\(folders)/" }

    private mutating func pick<T>(_ all: [T]) -> T { all.randomElement(using: &random)! }

    private mutating func isDrawn(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &random) < share }

    private mutating func step() {
        let name = pick(Self.names)
        switch Int.random(in: 0..<100, using: &random) {
        case ..<20: put(name)
        case ..<34: get(name)
        case ..<44: compare(.head, name, StoreRequest(method: "HEAD"))
        case ..<58: copy(name)
        case ..<70: list()
        case ..<76: delete(name)
        case ..<92: multipart(name)
        default: tag(name)
        }
    }

    // MARK: Comparing

    private mutating func compare(
        _ kind: StoreWords.Kind, _ name: String?, _ request: StoreRequest, _ note: String = ""
    ) {
        compare(kind, name, note) { _ in request }
    }

    /// - Parameters:
    ///   - note: of the operation, for people and for the list of known differences.
    ///   - request: for each side; its key is the name in the folder of now.
    @discardableResult
    private mutating func compare(
        _ kind: StoreWords.Kind, _ name: String?, _ note: String, _ request: (StoreSide) -> StoreRequest
    ) -> OnBothSides<StoreResponse>? {
        let prefix = prefix
        let responses = pair.send(
            OnBothSides { side in
                var request = request(side)
                request.key = name.map { prefix + $0 }
                return request
            })
        let words = [kind.rawValue, name ?? "", note].filter { !$0.isEmpty }.joined(separator: " ")
        let isSame = comparison.note(
            kind.rawValue, words, model: StoreWords.text(kind, responses[.model], prefix: prefix),
            real: StoreWords.text(kind, responses[.real], prefix: prefix))
        guard isSame else {
            folders += 1
            tags = [:]
            uploads = []
            return nil
        }
        if let name, responses[.model].fields["etag"] != nil, responses[.real].fields["etag"] != nil,
            [.put, .head, .get].contains(kind)
        {
            tags[name] = OnBothSides { responses[$0].fields["etag"] ?? "" }
        }
        return responses
    }

    /// The entity tag that an object has or had, or none of any.
    private mutating func tag(of name: String) -> (text: String, OnBothSides<String>) {
        if let known = tags[name], isDrawn(0.8) { return ("the last", known) }
        return ("none of any", OnBothSides { _ in Self.noTag })
    }

    // MARK: Objects

    private mutating func body() -> [UInt8] { Array(random.bytes(pick([0, 1, 5, 1000, 70_000]))) }

    private mutating func described(tags: Bool = true) -> HeaderFields {
        var fields: HeaderFields = ["content-type": pick(["image/jpeg", "text/plain; charset=utf-8", "video/mp4"])]
        if isDrawn(0.3) { fields.add("cache-control", "max-age=60, private") }
        if isDrawn(0.4) { fields.add("x-amz-meta-taken", pick(["2026-01-01", "a b"])) }
        if isDrawn(0.2) { fields.add("x-amz-meta-sha256", "YWJj") }
        if tags, isDrawn(0.2) { fields.add("x-amz-tagging", pick(["a=b", "a=b&c=d%20e"])) }
        return fields
    }

    private mutating func put(_ name: String) {
        let body = body()
        var fields = described()
        var note = "\(body.count) bytes"
        switch Int.random(in: 0..<10, using: &random) {
        case 0...2: fields.add(Checksum.fields(of: body))
        case 3...5: fields.add(BodyDigest(md5: MD5.hash(body)).fields)
        case 6:
            note += ", wrong MD5"
            fields.add(BodyDigest(md5: MD5.hash(body + [1])).fields)
        default: break
        }
        if fields["x-amz-tagging"] != nil { note += ", tags" }
        if isDrawn(0.25) {
            note += ", if-none-match"
            fields.add(PutCondition.ifNoneMatch.fields)
        } else if isDrawn(0.3) {
            let (text, tag) = tag(of: name)
            note += ", if-match \(text)\(tags[name] == nil ? "" : ", was there")"
            compare(.put, name, note) { side in
                var fields = fields
                fields.add(PutCondition.ifMatch(entityTag: tag[side]).fields)
                return StoreRequest(method: "PUT", fields: fields, body: body)
            }
            return
        }
        compare(.put, name, StoreRequest(method: "PUT", fields: fields, body: body), note)
    }

    private mutating func get(_ name: String) {
        var fields: HeaderFields = [:]
        var note = ""
        if isDrawn(0.6) {
            let range = pick(["bytes=0-0", "bytes=2-", "bytes=0-999999", "bytes=3-10", "bytes=500-", "bytes=999999-"])
            fields.add("range", range)
            note = range
        }
        guard isDrawn(0.3) else { return compare(.get, name, StoreRequest(method: "GET", fields: fields), note) }
        let (text, tag) = tag(of: name)
        compare(.get, name, "\(note), if-match \(text)") { side in
            var fields = fields
            fields.add("if-match", tag[side])
            return StoreRequest(method: "GET", fields: fields)
        }
    }

    private mutating func delete(_ name: String) {
        compare(.delete, name, StoreRequest(method: "DELETE"))
    }

    /// A renewal, as ``CopyRequest`` has it.
    private mutating func copy(_ name: String) {
        let replaces = isDrawn(0.7)
        var request = CopyRequest(
            bucket: StorePair.bucket, metadataDirective: replaces ? .replace : .copy,
            storageClass: replaces && isDrawn(0.5) ? nil : "STANDARD")
        if replaces { request.metadata = described(tags: false) }
        var note = replaces ? "REPLACE" : "COPY"
        if isDrawn(0.2) {
            let seconds = pick([1_000_000_000, 2_000_000_000])
            request.unmodifiedSince = Timestamp(secondsSince1970: seconds)
            note += ", if-unmodified-since \(seconds == 1_000_000_000 ? "2001" : "2033")"
        }
        let condition = isDrawn(0.6) ? tag(of: name) : nil
        if let condition { note += ", if-match \(condition.text)" }
        guard let object = ObjectAddress(key: prefix + name) else { return }
        let endpoint = pair.endpoint
        compare(.copy, name, note) { side in
            var request = request
            request.entityTag = condition?.1[side]
            let message = request.message(for: object, at: endpoint)
            return StoreRequest(method: "PUT", fields: HeaderFields(message.fields.filter { $0.name != "host" }))
        }
    }

    // MARK: Listings

    private mutating func list() {
        let delimiter = isDrawn(0.4) ? "delimiter=%2F&" : ""
        let most = pick([1, 2, 3, 1000, 1000])
        let part = PercentEncoding.encode(prefix + pick(["", "", "a/", "a", "b", "none"]))
        let query = "\(delimiter)encoding-type=url&list-type=2&max-keys=\(most)&prefix=\(part)"
        let start = isDrawn(0.2) ? "&start-after=\(PercentEncoding.encode(prefix + pick(Self.names)))" : ""
        let note = "\(delimiter.isEmpty ? "" : "delimiter, ")\(most) keys\(start.isEmpty ? "" : ", start-after")"
        var responses = compare(.list, nil, note) { _ in StoreRequest(method: "GET", query: query + start) }
        for page in 2...5 {
            guard let last = responses else { return }
            let tokens = OnBothSides { XMLTree.read(last[$0].body)?.text("NextContinuationToken") ?? "" }
            guard !tokens[.model].isEmpty, !tokens[.real].isEmpty else { return }
            responses = compare(.list, nil, "\(note), page \(page)") { side in
                StoreRequest(
                    method: "GET", query: "continuation-token=\(PercentEncoding.encode(tokens[side]))&\(query)")
            }
        }
    }

    // MARK: Multipart uploads

    private mutating func multipart(_ name: String) {
        guard let index = uploads.indices.randomElement(using: &random), !isDrawn(0.2) else { return begin(name) }
        let upload = uploads[index]
        let id = OnBothSides { PercentEncoding.encode(upload.ids[$0]) }
        switch Int.random(in: 0..<12, using: &random) {
        case ..<4: uploadPart(index, id)
        case ..<5: copyPart(index, id)
        case ..<7:
            let query = "max-parts=\(pick([1, 1000]))&part-number-marker=\(pick([0, 0, 1]))"
            compare(.listParts, upload.key, query) { StoreRequest(method: "GET", query: "\(query)&uploadId=\(id[$0])") }
        case ..<10: complete(index, id)
        default:
            compare(.abort, upload.key, upload.parts.isEmpty ? "" : "with parts") {
                StoreRequest(method: "DELETE", query: "uploadId=\(id[$0])")
            }
            if isDrawn(0.7), uploads.indices.contains(index) { uploads.remove(at: index) }
        }
    }

    private mutating func begin(_ name: String) {
        let fields = described()
        let responses = compare(.createUpload, name, fields["x-amz-tagging"] == nil ? "" : "tags") { _ in
            StoreRequest(method: "POST", query: "uploads", fields: fields)
        }
        guard let responses else { return }
        uploads.append(
            Upload(key: name, ids: OnBothSides { XMLTree.read(responses[$0].body)?.text("UploadId") ?? "none" }))
        if uploads.count > 4 { uploads.removeFirst() }
    }

    private mutating func uploadPart(_ index: Int, _ id: OnBothSides<String>) {
        let number = pick([1, 1, 2, 3, 10_000, 0])
        // All but the last have at least 5 MiB; few do here, for it takes long.
        let body = number == 1 && isDrawn(0.02) ? [UInt8](repeating: 7, count: 5 << 20) : body()
        let fields = BodyDigest(md5: MD5.hash(body)).fields
        let responses = compare(.uploadPart, uploads[index].key, "number \(number), \(body.count) bytes") { side in
            StoreRequest(method: "PUT", query: "partNumber=\(number)&uploadId=\(id[side])", fields: fields, body: body)
        }
        guard let responses, responses[.model].status == 200 else { return }
        uploads[index].parts[number] = OnBothSides { responses[$0].fields["etag"] ?? "" }
    }

    private mutating func copyPart(_ index: Int, _ id: OnBothSides<String>) {
        let number = pick([1, 2])
        let source = pick(Self.names)
        guard let address = ObjectAddress(key: prefix + source) else { return }
        let range = pick(["bytes=0-0", "bytes=0-4", "bytes=0-999999"])
        let tag = tag(of: source)
        let responses = compare(
            .copyPart, uploads[index].key, "number \(number) of \(source) \(range), if-match \(tag.text)"
        ) { side in
            StoreRequest(
                method: "PUT", query: "partNumber=\(number)&uploadId=\(id[side])",
                fields: [
                    "x-amz-copy-source": address.copySource(in: StorePair.bucket),
                    "x-amz-copy-source-if-match": tag.1[side], "x-amz-copy-source-range": range,
                ])
        }
        guard let responses, responses[.model].status == 200 else { return }
        uploads[index].parts[number] = OnBothSides { XMLTree.read(responses[$0].body)?.text("ETag") ?? "" }
    }

    private mutating func complete(_ index: Int, _ id: OnBothSides<String>) {
        let upload = uploads[index]
        var numbers = upload.parts.keys.sorted()
        var note = "\(numbers.count) parts"
        let isWrong = isDrawn(0.1)
        if isWrong { note += ", wrong tag" }
        if numbers.count > 1, isDrawn(0.1) {
            numbers.reverse()
            note += ", wrong order"
        }
        if isDrawn(0.1) {
            numbers.append(10_000)
            note += ", one that may be missing"
        }
        let isNew = isDrawn(0.3)
        if isNew { note += ", if-none-match" }
        let responses = compare(.complete, upload.key, note) { side in
            let parts = numbers.map { number in
                let tag = isWrong ? Self.noTag : upload.parts[number]?[side] ?? Self.noTag
                return "<Part><PartNumber>\(number)</PartNumber><ETag>\(XMLText.escaped(tag))</ETag></Part>"
            }
            return StoreRequest(
                method: "POST", query: "uploadId=\(id[side])", fields: isNew ? PutCondition.ifNoneMatch.fields : [:],
                body: Array(
                    "<CompleteMultipartUpload\(XMLText.namespace)>\(parts.joined())</CompleteMultipartUpload>".utf8))
        }
        guard let responses, responses[.model].status == 200 else { return }
        let tag = OnBothSides { XMLTree.read(responses[$0].body)?.text("ETag") ?? "" }
        tags[upload.key] = tag[.real].isEmpty ? nil : tag
        if isDrawn(0.7) { uploads.remove(at: index) }
    }

    // MARK: Tags

    private mutating func tag(_ name: String) {
        guard isDrawn(0.5) else { return compare(.getTags, name, StoreRequest(method: "GET", query: "tagging")) }
        let set = pick(["", "<Tag><Key>cloakroom-released</Key><Value>true</Value></Tag>"])
        let body = Array("<Tagging\(XMLText.namespace)><TagSet>\(set)</TagSet></Tagging>".utf8)
        compare(
            .putTags, name,
            StoreRequest(method: "PUT", query: "tagging", fields: Checksum.fields(of: body), body: body),
            set.isEmpty ? "none" : "one")
    }
}

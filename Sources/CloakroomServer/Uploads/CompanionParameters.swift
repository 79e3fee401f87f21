import CloakroomHTTP
import CloakroomWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What Uppy says of the object that it wants to upload.
struct CompanionParameters: Sendable, Equatable {
    let contentType: String
    /// What S3 is to keep with the object: `x-amz-meta-…`.
    let metadata: HeaderFields

    /// - Parameter query: a form's (URL Standard, "application/x-www-form-urlencoded"), with `filename`, `type` and
    ///   `metadata[NAME]`; others are ignored, and so is the name of the file: nothing a client chose gets into a key.
    init(query: String, rules: UploadRules) throws(UploadRules.Refusal) {
        guard let parameters = QueryParameters(form: query) else { throw .malformedQuery }
        var metadata: [String: String] = [:]
        for name in parameters.names where name.hasPrefix("metadata[") && name.hasSuffix("]") {
            metadata[String(name.dropFirst("metadata[".count).dropLast())] = parameters[name]
        }
        try self.init(type: parameters["type"], metadata, rules)
    }

    init(parsing body: [UInt8], rules: UploadRules) throws(UploadRules.Refusal) {
        guard let asked = try? CompanionUploadRequest(parsing: body) else { throw .malformedBody }
        try self.init(type: asked.type, asked.metadata, rules)
    }

    private init(type: String?, _ metadata: [String: String], _ rules: UploadRules) throws(UploadRules.Refusal) {
        guard let type, !type.isEmpty else { throw .noType }
        contentType = try rules.contentType(type)
        self.metadata = try Self.fields(metadata)
    }

    // MARK: Metadata

    /// Amazon S3 User Guide, "Working with object metadata": of names and values together.
    static let maximumMetadataBytes = 2048
    private static let names: ASCIIClass = "A-Za-z0-9_.-"

    private static func fields(_ metadata: [String: String]) throws(UploadRules.Refusal) -> HeaderFields {
        var fields: HeaderFields = [:]
        var count = 0
        var known: Set<String> = []
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) {
            let value = encoded(value)
            count += name.utf8.count + value.utf8.count
            // S3 knows names in lower case alone.
            guard names.holdsAll(of: name, count: 1...64), known.insert(name.lowercased()).inserted,
                count <= maximumMetadataBytes
            else { throw .metadata }
            fields.add("x-amz-meta-\(name.lowercased())", value)
        }
        return fields
    }

    /// As it is where a header field keeps it so, else as one encoded word (RFC 2047 §2), as Companion does.
    static func encoded(_ value: String) -> String {
        let isPlain =
            value.utf8.allSatisfy { (0x20...0x7E).contains($0) } && value.first != " " && value.last != " "
            && !value.contains("  ") && !value.hasPrefix("=?")
        return isPlain ? value : "=?UTF-8?B?\(Data(value.utf8).base64EncodedString())?="
    }
}

extension QueryParameters {
    /// The numbers of parts in `partNumbers`, separated by commas; each once.
    ///
    /// - Returns: `nil` for none, for too many, and for what is no part's number.
    var partNumbers: [Int]? {
        guard let words = self["partNumbers"]?.split(separator: ",", omittingEmptySubsequences: false),
            (1...WireLimits.maximumPartsPerRequest).contains(words.count)
        else { return nil }
        let numbers = words.compactMap { Self.partNumber($0) }
        return numbers.count == words.count && Set(numbers).count == numbers.count ? numbers : nil
    }

    /// 1 to 10,000 (Amazon S3 User Guide, "Multipart upload limits").
    static func partNumber(_ text: some StringProtocol) -> Int? {
        integer(text).flatMap { (1...10_000).contains($0) ? $0 : nil }
    }
}

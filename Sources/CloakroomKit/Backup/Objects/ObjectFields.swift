import CloakroomHTTP

/// What is stored with an object, as header fields.
enum ObjectFields {
    static let prefix = "x-amz-meta-"
    /// The size of the parts that an object was uploaded in, in bytes: with it, its entity tag can be checked against
    /// its bytes.
    static let partSize = "cloakroom-part-size"

    /// - Parameter metadata: names in lower case.
    static func fields(metadata: [String: String], partSize: Int?) -> HeaderFields {
        var fields: HeaderFields = [:]
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) { fields.add(prefix + name, value) }
        if let partSize { fields.add(prefix + Self.partSize, String(partSize)) }
        return fields
    }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/invalidRequest`` for what no header field can carry.
    static func check(contentType: String, metadata: [String: String]) throws(CloakroomError) {
        guard isValue(contentType), !contentType.isEmpty else {
            throw CloakroomError(.invalidRequest, "a content type is printable ASCII")
        }
        var size = 0
        for (name, value) in metadata {
            guard !name.isEmpty, name.utf8.allSatisfy(isName), isValue(value), name.lowercased() != partSize else {
                throw CloakroomError(
                    .invalidRequest, "metadata are names of letters, digits and hyphens, and values of printable ASCII")
            }
            size += name.utf8.count + value.utf8.count
        }
        // S3 User Guide, "Working with object metadata": 2 KB, with ours.
        guard size <= 2000 else { throw CloakroomError(.invalidRequest, "metadata are 2,000 bytes at most") }
        guard Set(metadata.keys.map { $0.lowercased() }).count == metadata.count else {
            throw CloakroomError(.invalidRequest, "names of metadata differ in more than case")
        }
    }

    private static func isName(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
    }

    /// Blanks at the ends would be lost.
    private static func isValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.first != " " && text.last != " "
    }
}

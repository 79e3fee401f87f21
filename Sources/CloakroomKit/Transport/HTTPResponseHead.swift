/// What comes before the body of a response.
package struct HTTPResponseHead: Sendable {
    package var status: Int
    package var fields: [(name: String, value: String)]
    /// Whether a content coding is undone before the body is handed out, so that its bytes are not the stored ones.
    package var isDecoded: Bool

    package init(status: Int, fields: [(name: String, value: String)], isDecoded: Bool) {
        self.status = status
        self.fields = fields
        self.isDecoded = isDecoded
    }

    var isSuccess: Bool { 200...299 ~= status }

    /// As announced, in bytes.
    var contentLength: Int64? {
        fields.first { $0.name.utf8.count == 14 && $0.name.lowercased() == "content-length" }
            .flatMap { Int64($0.value) }
    }
}

/// A client's request to the worker, after nginx and the gate have let it through.
package struct Request: Sendable {
    package var method: String
    /// The path as it was sent, before `?`: neither decoded nor normalised.
    package var path: String
    /// What stood behind `?`, still percent-encoded; empty if nothing did.
    package var query: String
    package var fields: HeaderFields
    package var body: [UInt8]
    /// As nginx drew it; `nil` when it sent none, or none that is well formed.
    package var id: RequestID?
    /// The client as nginx saw it, for the audit; `nil` when it did not say.
    package var peerAddress: String?

    /// - Parameter path: without a query.
    package init(method: String, path: String, fields: HeaderFields = [:], body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.query = ""
        self.fields = fields
        self.body = body
    }

    /// - Parameter target: path and query as in the request line.
    package init(method: String, target: String, fields: HeaderFields = [:], body: [UInt8] = []) {
        self.init(method: method, path: "", fields: fields, body: body)
        target.withUTF8Span { setTarget($0) }
    }

    /// Sets path and query as they stand in the request line. Bytes that are not UTF-8 are replaced.
    package mutating func setTarget(_ target: Span<UInt8>) {
        let mark = target.indices.first { target[$0] == UInt8(ascii: "?") }
        path = String(copying: target.extracting(first: mark ?? target.count))
        query = mark.map { String(copying: target.extracting(droppingFirst: $0 + 1)) } ?? ""
    }
}

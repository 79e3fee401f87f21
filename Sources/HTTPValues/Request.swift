/// What a client asked of the worker, after nginx and the gate have let it through.
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

    /// - Parameter target: path and query as in the request line.
    package init(method: String, target: String, fields: HeaderFields = [:], body: [UInt8] = []) {
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        self.method = method
        self.path = mark.map { String(target[..<$0]) } ?? target
        self.query = mark.map { String(target[target.utf8.index(after: $0)...]) } ?? ""
        self.fields = fields
        self.body = body
    }
}

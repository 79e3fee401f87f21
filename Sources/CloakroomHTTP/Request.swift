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
    /// Whether nginx vouches that it comes from a network that may see how the workers are.
    package var isFromLocalNetwork = false
    /// What the request is a part of; `nil` when the client did not say, or not in the form that it takes.
    package var trace: TraceContext?
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

    /// The same without fields, path, query and body: what is logged of it at its end, and kept for that while it waits.
    package var withoutContent: Request {
        var request = Request(method: method, path: "")
        request.id = id
        request.trace = trace
        request.peerAddress = peerAddress
        return request
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

/// Names one request in the log, in the audit and in nginx's own log: 16 hexadecimal digits.
package struct RequestID: Sendable, Equatable, CustomStringConvertible {
    package let value: UInt64

    package init(_ value: UInt64) { self.value = value }

    /// - Parameter digits: the first 16 digits count, of nginx's `$request_id` the first half.
    /// - Returns: `nil` if those are not lower-case hexadecimal.
    package init?(hexadecimal digits: Span<UInt8>) {
        guard digits.count >= 16 else { return nil }
        var value: UInt64 = 0
        for index in 0..<16 {
            let digit = digits[index]
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        self.value = value
    }

    package var description: String {
        String(unsafeUninitializedCapacity: 16) { digits in
            for index in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - 4 * index)) & 15
                digits[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            }
            return 16
        }
    }
}

/// The worker's response.
package struct Response: Sendable, Equatable {
    package var status: Int
    package var fields: HeaderFields
    package var body: [UInt8]

    package init(status: Int, fields: HeaderFields = [:], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}

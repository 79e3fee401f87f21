import CloakroomHTTP

/// Text that goes into many forms: percent-encoded once, and cut where each form fills in a value of its own.
package struct FormTemplate: Sendable, Equatable {
    private let parts: [[UInt8]]
    /// Of all parts together.
    let count: Int

    /// - Parameter parts: the text, cut at each open place.
    package init(_ parts: [String]) {
        self.parts = parts.map { part in
            var bytes: [UInt8] = []
            part.withUTF8Span { PercentEncoding.append($0, to: &bytes) }
            return bytes
        }
        count = self.parts.reduce(0) { $0 + $1.count }
    }

    func append(filledWith value: String, to bytes: inout [UInt8]) {
        value.withUTF8Span { value in
            for index in parts.indices {
                if index > 0 { PercentEncoding.append(value, to: &bytes) }
                bytes.append(contentsOf: parts[index])
            }
        }
    }
}

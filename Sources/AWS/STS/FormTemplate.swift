import HTTPValues

/// Text that goes into many forms: percent-encoded once, and cut where each form fills in a value of its own.
package struct FormTemplate: Sendable, Equatable {
    private let parts: [[UInt8]]

    /// - Parameter parts: the text, cut at each open place.
    package init(_ parts: [String]) {
        self.parts = parts.map { part in
            var bytes: [UInt8] = []
            part.withUTF8Span { PercentEncoding.append($0, to: &bytes) }
            return bytes
        }
    }

    /// Without what is filled in.
    var count: Int { parts.reduce(0) { $0 + $1.count } }

    func append(filledWith value: String, to bytes: inout [UInt8]) {
        guard let first = parts.first else { return }
        bytes.append(contentsOf: first)
        guard parts.count > 1 else { return }
        let start = bytes.count
        value.withUTF8Span { PercentEncoding.append($0, to: &bytes) }
        // Encoded once, copied to the other places.
        let filling = Array(bytes[start...])
        bytes.append(contentsOf: parts[1])
        for part in parts.dropFirst(2) {
            bytes.append(contentsOf: filling)
            bytes.append(contentsOf: part)
        }
    }
}

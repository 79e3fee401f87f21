/// An element that is kept or written: what it holds is either text or other elements.
///
/// Attributes and namespaces are not kept; S3 gives its configurations none that mean anything.
package struct XMLNode: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        case text(String)
        case elements([XMLNode])
    }

    package var name: String
    package var content: Content

    package init(_ name: String, _ text: String) {
        self.name = name
        content = .text(text)
    }

    package init(_ name: String, _ elements: [XMLNode]) {
        self.name = name
        content = .elements(elements)
    }

    /// Beside elements, text is but the space between them.
    package init(_ element: XMLElement) {
        let children = element.children
        name = element.name
        content = children.isEmpty ? .text(element.text) : .elements(children.map { XMLNode($0) })
    }

    /// None for text.
    package var elements: [XMLNode] {
        if case .elements(let elements) = content { elements } else { [] }
    }

    /// Empty for an element of elements.
    package var text: String {
        if case .text(let text) = content { text } else { "" }
    }

    /// The first element of this name.
    package subscript(name: String) -> XMLNode? { elements.first { $0.name == name } }

    /// A whole document, this its root.
    package func document(namespace: String) -> [UInt8] {
        var bytes = Array("<\(name) xmlns=\"\(namespace)\">".utf8)
        appendContent(to: &bytes)
        bytes.append(contentsOf: "</\(name)>".utf8)
        return bytes
    }

    /// The element within a document.
    package func append(to bytes: inout [UInt8]) {
        if content == .text("") || content == .elements([]) {
            bytes.append(contentsOf: "<\(name)/>".utf8)
            return
        }
        bytes.append(contentsOf: "<\(name)>".utf8)
        appendContent(to: &bytes)
        bytes.append(contentsOf: "</\(name)>".utf8)
    }

    private func appendContent(to bytes: inout [UInt8]) {
        switch content {
        case .elements(let elements):
            for element in elements { element.append(to: &bytes) }
        case .text(let text):
            for byte in text.utf8 {
                switch byte {
                case UInt8(ascii: "&"): bytes.append(contentsOf: "&amp;".utf8)
                case UInt8(ascii: "<"): bytes.append(contentsOf: "&lt;".utf8)
                case UInt8(ascii: ">"): bytes.append(contentsOf: "&gt;".utf8)
                // A reader takes a bare one for a line feed (XML 1.0 §2.11).
                case UInt8(ascii: "\r"): bytes.append(contentsOf: "&#13;".utf8)
                case UInt8(ascii: "\t"), UInt8(ascii: "\n"): bytes.append(byte)
                // No document may have these, escaped or not (XML 1.0 §2.2).
                case 0..<0x20: bytes.append(contentsOf: "\u{FFFD}".utf8)
                default: bytes.append(byte)
                }
            }
        }
    }
}

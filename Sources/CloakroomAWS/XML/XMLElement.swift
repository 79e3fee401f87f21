/// One element of a document, with everything in it. Names and texts become strings when they are read.
package struct XMLElement: Sendable {
    private let document: XMLDocument
    private let index: Int

    init(_ document: XMLDocument, _ index: Int) {
        self.document = document
        self.index = index
    }

    private var node: XMLDocument.Node { document.nodes[index] }

    /// Without a namespace prefix.
    package var name: String { String(decoding: document.bytes[node.name], as: UTF8.self) }

    /// The text directly in it, entities resolved.
    package var text: String {
        String(decoding: node.isTextDecoded ? document.decoded[node.text] : document.bytes[node.text], as: UTF8.self)
    }

    package var children: [XMLElement] {
        var children: [XMLElement] = []
        forEachChild { index in
            children.append(XMLElement(document, index))
            return true
        }
        return children
    }

    /// The first child of this name.
    package subscript(name: String) -> XMLElement? {
        var found: XMLElement?
        forEachChild { index in
            guard document.nodes[index].hasName(name, in: document.bytes) else { return true }
            found = XMLElement(document, index)
            return false
        }
        return found
    }

    /// The text of the first child of this name.
    package func text(of name: String) -> String? { self[name]?.text }

    package func hasName(_ name: String) -> Bool { node.hasName(name, in: document.bytes) }

    private func forEachChild(_ body: (Int) -> Bool) {
        var child = index + 1
        while child < node.end, body(child) { child = document.nodes[child].end }
    }
}

/// A document that was read: its elements in one array, each followed by those in it, over the bytes as they came.
struct XMLDocument: Sendable {
    struct Node: Sendable {
        /// In the bytes, without a namespace prefix.
        let name: Range<Int>
        /// In the bytes, or among the decoded texts where it does not stand in the bytes as it is.
        var text: Range<Int> = 0..<0
        var isTextDecoded = false
        /// The index behind the last element in it.
        var end = 0

        func hasName(_ name: String, in bytes: [UInt8]) -> Bool {
            var name = name
            return name.withUTF8 { theirs in
                let slice = bytes[self.name]
                let (ours, theirs) = (slice.span, theirs.span)
                guard ours.count == theirs.count else { return false }
                for index in ours.indices where ours[index] != theirs[index] { return false }
                return true
            }
        }
    }

    let bytes: [UInt8]
    var nodes: [Node] = []
    var decoded: [UInt8] = []
}

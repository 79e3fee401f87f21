/// One element of an answer, with everything in it.
package struct XMLElement: Sendable, Equatable {
    /// Without a namespace prefix.
    package var name: String
    /// The text directly in it, entities resolved.
    package var text = ""
    package var children: [XMLElement] = []

    package init(name: String) { self.name = name }

    /// The first child of this name.
    package subscript(name: String) -> XMLElement? {
        children.first { $0.name == name }
    }

    /// The text of the first child of this name.
    package func text(of name: String) -> String? { self[name]?.text }
}

extension JSON {
    /// The value as a text for people: two spaces a level, short lists and empty things on one line.
    package var indented: String { indented(after: "") }

    private func indented(after margin: String) -> String {
        let inner = margin + "  "
        switch self {
        case .null, .bool, .number, .string: return text
        case .array(let elements):
            if elements.count < 2 { return "[\(elements.map { $0.indented(after: margin) }.joined())]" }
            return "[\n" + elements.map { inner + $0.indented(after: inner) }.joined(separator: ",\n") + "\n\(margin)]"
        case .object(let object):
            if object.members.isEmpty { return "{}" }
            let members = object.members.map { member in
                "\(inner)\(JSON.string(member.name).text): \(member.value.indented(after: inner))"
            }
            return "{\n" + members.joined(separator: ",\n") + "\n\(margin)}"
        }
    }
}

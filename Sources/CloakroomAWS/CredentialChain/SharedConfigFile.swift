/// A shared config or credentials file: sections of properties.
///
/// Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials files".
struct SharedConfigFile {
    struct Section: Equatable {
        /// As between the brackets.
        let title: String
        /// Of nested ones under `name =`, the key is `name.inner`.
        var properties: [String: String] = [:]
    }

    private(set) var sections: [Section] = []

    /// - Throws: the number of a line that is no section, property or comment; 0 for a file that is too large.
    init(_ bytes: [UInt8]) throws(ParsingError) {
        guard bytes.count <= 1 << 20 else { throw ParsingError(line: 0) }
        var outer: String?
        for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let text = String(decoding: line, as: UTF8.self)
            let content = text.trimmed
            guard let first = content.first, first != "#", first != ";" else { continue }
            if first == "[", text.first == "[" {
                guard let title = Self.title(content) else { throw ParsingError(line: index + 1) }
                sections.append(Section(title: title))
                outer = nil
                continue
            }
            guard !sections.isEmpty else { throw ParsingError(line: index + 1) }
            let isInner = text.utf8.first == 0x20 || text.utf8.first == 0x09
            guard let (name, value) = Self.property(content) else {
                // What goes on from the line before is never a part of what we read.
                if isInner { continue }
                throw ParsingError(line: index + 1)
            }
            let last = sections.count - 1
            if isInner, let outer {
                sections[last].properties["\(outer).\(name)"] = value
            } else {
                sections[last].properties[name] = value
                outer = value.isEmpty ? name : nil
            }
        }
    }

    struct ParsingError: Error, Equatable { let line: Int }

    private static func title(_ line: String) -> String? {
        guard let end = line.firstIndex(of: "]") else { return nil }
        let words = line[line.index(after: line.startIndex)..<end].trimmed.split(whereSeparator: \.isWhitespace)
        guard !words.isEmpty else { return nil }
        return words.joined(separator: " ").replacing("\"", with: "").replacing("'", with: "")
    }

    private static func property(_ line: String) -> (name: String, value: String)? {
        guard let mark = line.firstIndex(of: "=") else { return nil }
        let name = line[..<mark].trimmed.lowercased()
        guard !name.isEmpty else { return nil }
        var value = line[line.index(after: mark)...]
        // A comment begins behind a blank.
        for comment in [" #", " ;", "\t#", "\t;"] {
            if let start = value.firstRange(of: comment)?.lowerBound { value = value[..<start] }
        }
        return (name, value.trimmed)
    }
}

extension String {
    /// Its words in lines of at most so many characters; a longer word has a line of its own.
    package func wrapped(columns: Int) -> [String] {
        split(separator: " ").reduce(into: []) { lines, word in
            if let last = lines.last, last.count + 1 + word.count <= columns {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
    }

    /// The same behind a label; the lines after the first are as far in as its end.
    package func wrapped(columns: Int, after label: String) -> [String] {
        let margin = String(repeating: " ", count: label.count)
        return wrapped(columns: columns - label.count).enumerated().map {
            ($0.offset == 0 ? label : margin) + $0.element
        }
    }
}

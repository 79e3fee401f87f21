/// A pattern of IAM: plain characters, `?` for one of any, `*` for any number of any, and policy variables.
///
/// Source: IAM User Guide, "IAM JSON policy elements: Resource" and "Variables and tags".
package struct IAMPattern: Sendable, Equatable {
    package enum Piece: Sendable, Equatable {
        case plain(Unicode.Scalar)
        case one
        case many
        /// The name in lower case, and what stands for a variable that the request does not have.
        case variable(String, standard: String?)
    }

    package let pieces: [Piece]

    package init(pieces: [Piece]) { self.pieces = pieces }

    /// - Parameter wildcards: whether `*` and `?` mean something; they do not in `StringEquals`.
    /// - Parameter variables: whether `${…}` means something; it does not in actions.
    package init(_ text: String, wildcards: Bool = true, variables: Bool = true) {
        var pieces: [Piece] = []
        var rest = Array(text.unicodeScalars)[...]
        while let scalar = rest.popFirst() {
            if variables, scalar == "$", rest.first == "{", let end = rest.firstIndex(of: "}") {
                pieces.append(Self.variable(rest[(rest.startIndex + 1)..<end]))
                rest = rest[(end + 1)...]
            } else {
                let wildcard: Piece? = scalar == "*" ? .many : scalar == "?" ? .one : nil
                pieces.append(wildcards ? wildcard ?? .plain(scalar) : .plain(scalar))
            }
        }
        self.pieces = pieces
    }

    /// What stands between the braces: a name, a name with a standard in single quotes, or an escaped `*`, `?` or `$`.
    private static func variable(_ inside: ArraySlice<Unicode.Scalar>) -> Piece {
        if inside.count == 1, let scalar = inside.first, "*?$".unicodeScalars.contains(scalar) { return .plain(scalar) }
        let parts = inside.split(separator: ",", maxSplits: 1)
        let standard = parts.count > 1 ? text(parts[1]).split(separator: "'", omittingEmptySubsequences: false) : []
        return .variable(
            text(parts.first ?? []).lowercased(), standard: standard.count == 3 ? String(standard[1]) : nil)
    }

    private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var text = ""
        text.unicodeScalars.append(contentsOf: scalars)
        return text
    }

    /// As it is written, but for names of variables in lower case.
    package var text: String {
        pieces.reduce(into: "") { text, piece in
            switch piece {
            case .plain(let scalar): text.unicodeScalars.append(scalar)
            case .one: text += "?"
            case .many: text += "*"
            case .variable(let name, let standard): text += "${\(name)\(standard.map { ", '\($0)'" } ?? "")}"
            }
        }
    }

    package func matches(_ text: String) -> Bool { covers(text.unicodeScalars.map(Piece.plain)) }

    /// Whether every text that the other pattern matches is matched by this one, shown piece by piece: a `*` there
    /// must fall into a `*` here, and a variable into the same variable or a `*`. `false` means "not shown".
    func covers(_ other: IAMPattern) -> Bool { covers(other.pieces) }

    /// Greedy, with one position to come back to: what an earlier `*` could take more, the last one can as well.
    private func covers(_ other: [Piece]) -> Bool {
        var index = 0
        var position = 0
        var last: (index: Int, position: Int)?
        while position < other.count {
            if index < pieces.count, pieces[index] == .many {
                last = (index, position)
                index += 1
            } else if index < pieces.count, pieces[index].matches(other[position]) {
                index += 1
                position += 1
            } else if let (start, taken) = last {
                last = (start, taken + 1)
                index = start + 1
                position = taken + 1
            } else {
                return false
            }
        }
        return pieces[index...].allSatisfy { $0 == .many }
    }
}

extension IAMPattern.Piece {
    fileprivate func matches(_ other: Self) -> Bool {
        switch (self, other) {
        case (.one, .plain), (.one, .one): true
        case (.plain(let scalar), .plain(let other)): scalar == other
        case (.variable, .variable): self == other
        case (.plain, _), (.one, _), (.variable, _), (.many, _): false
        }
    }
}

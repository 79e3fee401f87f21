/// A string that prints as `<secret>` everywhere; only ``reveal()`` gives the text.
package struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let text: String

    package init(_ text: String) { self.text = text }

    package func reveal() -> String { text }

    package var description: String { "<secret>" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// Takes as long for an early difference as for a late one.
    package static func == (left: Self, right: Self) -> Bool {
        constantTimeEqual(Array(left.text.utf8), Array(right.text.utf8))
    }
}

/// Compares in a time that depends on the lengths alone.
package func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
}

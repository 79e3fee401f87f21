import Foundation

/// A text of a screen with places for what it is about: `%1$@`, `%2$@`, and so on, in any order.
package struct TextTemplate: Sendable, Hashable {
    private let text: String

    package init(_ text: String) { self.text = text }

    /// The text with its arguments; a place without one stays as it is.
    package func filled(with arguments: [String]) -> String {
        var text = text
        // From the end, and each only once: an argument that looks like a place for one stays as it is.
        var places: [(range: Range<String.Index>, argument: String)] = []
        for (index, argument) in arguments.enumerated() {
            var rest = text.startIndex..<text.endIndex
            while let range = text.range(of: "%\(index + 1)$@", range: rest) {
                places.append((range, argument))
                rest = range.upperBound..<text.endIndex
            }
        }
        for place in places.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
            text.replaceSubrange(place.range, with: place.argument)
        }
        return text
    }
}

import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension Date {
    /// ISO 8601 in UTC without a fraction, such as `2026-03-14T08:00:00Z`: what `JSONDecoder`'s `.iso8601` reads.
    ///
    /// The fraction is cut off, so that an expiration is never told as later than it is.
    package var wireText: String {
        var text: [UInt8] = []
        text.append(addingCapacity: Self.wireCount) { appendWireText(to: &$0) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Bytes of ``wireText``.
    static let wireCount = 20

    func appendWireText(to output: inout OutputSpan<UInt8>) {
        CivilTime(Int(timeIntervalSince1970.rounded(.down))).appendISO8601(to: &output)
    }

    /// Reads ``wireText``, also with a fraction behind the seconds, as JavaScript writes it; the fraction is cut off.
    package init?(wireText text: String) {
        guard text.utf8.count <= 40, let time = text.withUTF8Span({ CivilTime(iso8601: $0) }) else { return nil }
        self.init(timeIntervalSince1970: Double(time.secondsSince1970))
    }
}

package import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Something that goes over the wire as JSON.
///
/// Written by hand because the shapes are few and fixed.
package protocol WireEncodable: Sendable, Equatable {
    func write(to writer: inout JSONWriter)
}

extension WireEncodable {
    /// The JSON, in UTF-8.
    package var encoded: [UInt8] {
        var writer = JSONWriter(capacity: 1536)
        write(to: &writer)
        return writer.bytes
    }
}

/// A body the worker writes and the kit reads, by `Codable` with ``wireDecoder``.
package protocol WireBody: WireEncodable, Decodable {}

/// For reading bodies: dates are ISO 8601, with a fraction of a second or without.
package var wireDecoder: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let date = Date(wireText: text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no date of ISO 8601 in UTC")
        }
        return date
    }
    return decoder
}

extension JSONWriter {
    package mutating func member(_ name: StaticString, _ value: Date) {
        plainName(name)
        plainString(count: Date.wireCount) { value.appendWireText(to: &$0) }
    }
}

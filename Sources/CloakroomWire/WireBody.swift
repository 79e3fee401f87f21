package import StrictJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A body the worker writes and the kit reads.
///
/// Written by hand because the shapes are few and fixed; read by `Codable`, with ``decoder``.
package protocol WireBody: Sendable, Equatable, Decodable {
    func write(to writer: inout JSONWriter)
}

extension WireBody {
    /// The body's JSON, in UTF-8.
    package var encoded: [UInt8] {
        var writer = JSONWriter(capacity: 1536)
        write(to: &writer)
        return writer.bytes
    }
}

/// For reading bodies: dates are ISO 8601.
package var wireDecoder: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    return decoder
}

extension JSONWriter {
    mutating func member(_ name: StaticString, _ value: String) {
        plainName(name)
        string(value)
    }

    mutating func member(_ name: StaticString, _ value: Date) {
        plainName(name)
        string(value.wireText)
    }
}

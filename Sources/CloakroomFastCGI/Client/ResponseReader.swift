import CloakroomConnections
import CloakroomHTTP

/// Reads a worker's responses as their bytes arrive (FastCGI Specification 1.0, §3.3 and §6.2; RFC 3875 §6.3).
final class ResponseReader: ResponseReading {
    private let maximumBytes: Int
    /// What is not yet a whole record.
    private var rest: [UInt8] = []
    private var output: [UInt8] = []

    /// - Parameter maximumBytes: of head and body.
    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    func reset() {
        rest = []
        output = []
    }

    /// A response ends with a record of its own.
    func end() -> ResponseProgress { .failed(.interrupted) }

    func read(_ bytes: Span<UInt8>) -> ResponseProgress {
        guard !rest.isEmpty else { return walk(bytes) }
        rest.append(addingCapacity: bytes.count) { $0.append(copying: bytes) }
        let all = rest
        rest = []
        return walk(all.span)
    }

    private func walk(_ bytes: Span<UInt8>) -> ResponseProgress {
        var offset = 0
        while bytes.count - offset >= RecordHeader.headerBytes {
            let record = RecordHeader(bytes, at: offset)
            guard record.version == 1 else { return .failed(.malformed) }
            guard bytes.count >= record.end else { break }
            switch record.kind {
            case .output:
                guard output.count + record.contentLength <= maximumBytes else { return .failed(.tooLarge) }
                let content = bytes.extracting(record.content)
                output.append(addingCapacity: content.count) { $0.append(copying: content) }
            case .end:
                // One request at a time: nothing follows.
                return bytes.count == record.end ? Self.response(output) : .failed(.malformed)
            // Lines for the log, and what a later version of the protocol may have.
            case nil: break
            case .begin, .abort, .parameters, .input, .getValues, .getValuesResult: return .failed(.malformed)
            }
            offset = record.end
        }
        let more = bytes.extracting(droppingFirst: offset)
        rest.append(addingCapacity: more.count) { $0.append(copying: more) }
        return .incomplete
    }

    private static func response(_ output: [UInt8]) -> ResponseProgress {
        var response = UpstreamResponse(status: 200)
        response.fields.reserve(fields: 8, bytes: 256)
        var start = 0
        while let end = lineEnd(output, from: start) {
            if end == start {
                response.body = Array(output[(end + 2)...])
                return .complete(response, keepsConnection: true)
            }
            guard let colon = output[start..<end].firstIndex(of: UInt8(ascii: ":")) else { return .failed(.malformed) }
            var value = colon + 1
            while value < end, output[value] == 0x20 { value += 1 }
            let name = String(decoding: output[start..<colon], as: UTF8.self)
            if name == "Status" {
                guard let status = Int(String(decoding: output[value..<end].prefix(3), as: UTF8.self)) else {
                    return .failed(.malformed)
                }
                response.status = status
            } else {
                response.fields.add(name, Array(output[value..<end]))
            }
            start = end + 2
        }
        return .failed(.malformed)
    }

    private static func lineEnd(_ bytes: [UInt8], from start: Int) -> Int? {
        var index = start
        while index + 1 < bytes.count {
            if bytes[index] == 0x0D, bytes[index + 1] == 0x0A { return index }
            index += 1
        }
        return nil
    }
}

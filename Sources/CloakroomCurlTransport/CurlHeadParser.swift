import CloakroomHTTP
import CloakroomKit
import CloakroomLibcurl

/// The head of a response, line by line as libcurl gives them.
struct CurlHeadParser {
    enum Step {
        case more
        case head(HTTPResponseHead)
        /// No response of HTTP, or longer than there is room for.
        case unusable
    }

    // S3 keeps 2 KB of metadata with an object.
    private var reader = CurlHeadReader(maximumBytes: 1 << 17)
    private var fields: [(name: String, value: String)] = []
    /// Whether the head of a response that is not an interim one has ended.
    var isWhole: Bool { reader.isWhole }

    /// - Parameter bytes: a line, with its end.
    mutating func take(_ bytes: UnsafeRawBufferPointer) -> Step {
        let line = unsafe bytes.assumingMemoryBound(to: UInt8.self).span
        switch reader.read(line) {
        case .field(let name, let value):
            fields.append((String(copying: line.extracting(name)), String(copying: line.extracting(value))))
        case .status: fields = []
        case .nothing: break
        case .end: return .head(HTTPResponseHead(status: reader.status, fields: fields, isDecoded: false))
        case .unusable, .tooLong: return .unusable
        }
        return .more
    }
}

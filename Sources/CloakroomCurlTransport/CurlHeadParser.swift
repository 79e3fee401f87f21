import CloakroomKit

/// The head of a response, line by line as libcurl gives them.
struct CurlHeadParser {
    enum Step {
        case more
        case head(HTTPResponseHead)
        /// No response of HTTP, or longer than there is room for.
        case unusable
    }

    /// Of a head; S3 keeps 2 KB of metadata with an object.
    private static let maximumBytes = 1 << 17

    private var status = 0
    private var fields: [(name: String, value: String)] = []
    private var byteCount = 0
    /// Whether the head of a response that is not an interim one has ended.
    private(set) var isWhole = false

    /// - Parameter line: with its end.
    mutating func take(_ line: UnsafeRawBufferPointer) -> Step {
        // What comes after the body tells nothing about it.
        if isWhole { return .more }
        var line = unsafe line[...]
        while let last = unsafe line.last, last == 0x0A || last == 0x0D { unsafe line.removeLast() }
        byteCount += unsafe line.count
        guard byteCount <= Self.maximumBytes else { return .unusable }
        if unsafe line.isEmpty { return end() }
        if unsafe line.starts(with: "HTTP/".utf8) {
            fields = []
            let code = unsafe line.split(separator: 0x20, maxSplits: 2).dropFirst().first
            status = unsafe code.flatMap { unsafe Int(String(decoding: $0, as: UTF8.self)) } ?? 0
        } else if let colon = unsafe line.firstIndex(of: UInt8(ascii: ":")) {
            unsafe fields.append((text(line[..<colon]), text(line[(colon + 1)...])))
        }
        return .more
    }

    private mutating func end() -> Step {
        switch status {
        // No request asks for another protocol.
        case 101: return .unusable
        case 100...199: return .more
        case 200...999:
            isWhole = true
            return .head(HTTPResponseHead(status: status, fields: fields, isDecoded: false))
        default: return .unusable
        }
    }

    /// Without the space around it.
    private func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        var bytes = unsafe bytes
        while let first = unsafe bytes.first, first == 0x20 || first == 0x09 { unsafe bytes.removeFirst() }
        while let last = unsafe bytes.last, last == 0x20 || last == 0x09 { unsafe bytes.removeLast() }
        return unsafe String(decoding: bytes, as: UTF8.self)
    }
}

/// Cuts what arrives into requests (HTTP/1.1 with a length).
struct RequestReader {
    enum Step {
        case request(S3Request)
        case incomplete
        /// The client waits for leave to send its body.
        case expectsContinue
        case malformed
    }

    private static let headLimit = 64 << 10
    private static let bodyLimit = 64 << 20

    private var bytes: [UInt8] = []
    private var looked = 0
    private var head: (request: S3Request, length: Int, bodyLength: Int)?
    private var mayContinue = false

    mutating func append(_ more: ArraySlice<UInt8>) { bytes += more }

    mutating func next() -> Step {
        if head == nil {
            guard let end = endOfHead() else { return bytes.count > Self.headLimit ? .malformed : .incomplete }
            guard let read = Self.head(bytes[..<(end - 4)]) else { return .malformed }
            head = (read.request, end, read.bodyLength)
            mayContinue = read.request.field("expect")?.lowercased() == "100-continue"
        }
        guard let head else { return .malformed }
        guard bytes.count >= head.length + head.bodyLength else {
            guard mayContinue else { return .incomplete }
            mayContinue = false
            return .expectsContinue
        }
        var request = head.request
        request.body = Array(bytes[head.length..<head.length + head.bodyLength])
        bytes.removeFirst(head.length + head.bodyLength)
        (self.head, looked, mayContinue) = (nil, 0, false)
        return .request(request)
    }

    /// Behind the empty line.
    private mutating func endOfHead() -> Int? {
        let start = max(0, looked - 3)
        looked = bytes.count
        return bytes.withUnsafeBufferPointer { bytes in
            var position = start
            while position + 3 < bytes.count {
                if bytes[position + 3] != 0x0A {
                    position += 1
                } else if bytes[position] == 0x0D, bytes[position + 1] == 0x0A, bytes[position + 2] == 0x0D {
                    return position + 4
                } else {
                    position += 1
                }
            }
            return nil
        }
    }

    private static func head(_ bytes: ArraySlice<UInt8>) -> (request: S3Request, bodyLength: Int)? {
        let lines = bytes.split(separator: 0x0D, omittingEmptySubsequences: false)
        let words = String(decoding: lines[0], as: UTF8.self).split(separator: " ")
        guard words.count == 3, words[1].hasPrefix("/") else { return nil }
        var fields: [S3Request.Pair] = []
        fields.reserveCapacity(lines.count)
        for line in lines.dropFirst() {
            guard line.first == 0x0A, let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = String(decoding: line[(line.startIndex + 1)..<colon], as: UTF8.self).lowercased()
            var value = line[(colon + 1)...]
            while value.first == UInt8(ascii: " ") || value.first == UInt8(ascii: "\t") { value.removeFirst() }
            while value.last == UInt8(ascii: " ") || value.last == UInt8(ascii: "\t") { value.removeLast() }
            fields.append(.init(name: name, value: String(decoding: value, as: UTF8.self)))
        }
        let request = S3Request(method: String(words[0]), target: String(words[1]), fields: fields)
        guard request.field("transfer-encoding") == nil else { return nil }
        let length = request.field("content-length").map { Int($0) } ?? 0
        guard let length, (0...bodyLimit).contains(length) else { return nil }
        return (request, length)
    }
}

/// Walks the records of one FastCGI request as its bytes arrive and says when the whole of it is there.
///
/// libfcgi blocks on half a record and aborts on mutated lengths, so nothing reaches it that this has not passed.
/// Source: FastCGI Specification 1.0, §3 to §5.
struct Gate {
    enum Verdict: Equatable {
        /// More bytes are needed.
        case incomplete
        /// A whole request lies in the first `end` bytes; what follows is the next.
        case complete(end: Int)
        /// A GET_VALUES management record lies in the first `end` bytes.
        case values(end: Int)
        /// More than ``Limits`` allow; `requestID` can still get a response.
        case tooLarge(requestID: UInt16)
        /// Not FastCGI, not for a responder, or aborted: the connection is of no further use.
        case malformed
    }

    struct Limits {
        /// All PARAMS of a request together, in bytes.
        var parameterBytes = 65_536
        /// All of STDIN.
        var bodyBytes: Int
    }

    private enum Phase { case begin, parameters, body }

    private let limits: Limits
    private var phase = Phase.begin
    private var offset = 0
    private var pairs = PairWalker()

    /// By which the peer knows the request (§3.3).
    private(set) var requestID: UInt16 = 0
    private var parameterBytes = 0
    /// So far.
    private(set) var bodyBytes = 0

    /// Whether the peer wants the connection kept after the response (§5.1, FCGI_KEEP_CONN).
    private(set) var keepsConnection = false

    init(limits: Limits) { self.limits = limits }

    /// - Parameter bytes: everything of this request so far; it may only grow between calls.
    mutating func walk(_ bytes: Span<UInt8>) -> Verdict {
        while bytes.count - offset >= RecordHeader.headerBytes {
            let record = RecordHeader(bytes, at: offset)
            guard record.version == 1 else { return .malformed }
            if phase == .begin, record.requestID == 0 {
                return managementVerdict(of: record, in: bytes)
            }
            // What the header alone can decide, before its content has arrived.
            guard isExpected(record) else { return .malformed }
            guard fits(record) else { return .tooLarge(requestID: requestID) }
            guard bytes.count >= record.end else { return .incomplete }
            if phase == .body, record.contentLength == 0 { return .complete(end: record.end) }
            guard take(record, bytes.extracting(record.content)) else { return .malformed }
            offset = record.end
        }
        return .incomplete
    }

    private func isExpected(_ record: RecordHeader) -> Bool {
        switch phase {
        case .begin: record.kind == .begin && record.contentLength == 8
        case .parameters: record.kind == .parameters && record.requestID == requestID
        case .body: record.kind == .input && record.requestID == requestID
        }
    }

    private func fits(_ record: RecordHeader) -> Bool {
        switch phase {
        case .begin: true
        case .parameters: parameterBytes + record.contentLength <= limits.parameterBytes
        case .body: bodyBytes + record.contentLength <= limits.bodyBytes
        }
    }

    /// - Returns: whether the content is sound.
    private mutating func take(_ record: RecordHeader, _ content: Span<UInt8>) -> Bool {
        switch phase {
        case .begin:
            let isResponder = content[0] == 0 && content[1] == 1
            guard isResponder else { return false }
            requestID = record.requestID
            keepsConnection = content[2] & 1 != 0
            phase = .parameters
        case .parameters where record.contentLength == 0:
            guard pairs.isBetweenPairs else { return false }
            phase = .body
        case .parameters:
            parameterBytes += record.contentLength
            return pairs.walk(content)
        case .body:
            bodyBytes += record.contentLength
        }
        return true
    }

    private func managementVerdict(of record: RecordHeader, in bytes: Span<UInt8>) -> Verdict {
        guard record.kind == .getValues, record.contentLength <= 1024 else { return .malformed }
        return bytes.count >= record.end ? .values(end: record.end) : .incomplete
    }
}

/// One record's header (§3.3).
struct RecordHeader {
    enum Kind: UInt8 {
        case begin = 1
        case abort = 2
        case end = 3
        case parameters = 4
        case input = 5
        case output = 6
        case getValues = 9
        case getValuesResult = 10
    }

    static let headerBytes = 8

    let version: UInt8
    let kind: Kind?
    let requestID: UInt16
    let contentLength: Int
    let end: Int
    private let start: Int

    var content: Range<Int> { start..<start + contentLength }

    /// - Parameter offset: where ``headerBytes`` bytes are.
    init(_ bytes: Span<UInt8>, at offset: Int) {
        let header = bytes.extracting(offset..<offset + Self.headerBytes)
        version = header[0]
        kind = Kind(rawValue: header[1])
        requestID = UInt16(header[2]) << 8 | UInt16(header[3])
        contentLength = Int(header[4]) << 8 | Int(header[5])
        start = offset + Self.headerBytes
        end = start + contentLength + Int(header[6])
    }
}

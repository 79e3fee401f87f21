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
        /// More than ``Limits`` allow; `requestID` can still be answered.
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
    private var requestID: UInt16 = 0
    private var offset = 0
    private var parameterBytes = 0
    /// So far.
    private(set) var bodyBytes = 0
    private var pairs = PairWalker()

    /// Whether the peer wants the connection kept after the answer (§5.1, FCGI_KEEP_CONN).
    private(set) var keepsConnection = false

    init(limits: Limits) { self.limits = limits }

    /// - Parameter bytes: everything of this request so far; it may only grow between calls.
    mutating func walk(_ bytes: Span<UInt8>) -> Verdict {
        while bytes.count - offset >= Record.headerBytes {
            let record = Record(bytes, at: offset)
            guard record.version == 1 else { return .malformed }
            if phase == .begin, record.requestID == 0 {
                return managementVerdict(of: record, in: bytes)
            }
            if let verdict = announce(record) { return verdict }
            guard bytes.count >= record.end else { return .incomplete }
            let content = bytes.extracting(record.content)
            if let verdict = take(record, content) { return verdict }
            offset = record.end
        }
        return .incomplete
    }

    /// What the header alone can decide, before its content has arrived.
    private mutating func announce(_ record: Record) -> Verdict? {
        switch phase {
        case .begin:
            guard record.kind == .begin, record.contentLength == 8 else { return .malformed }
        case .parameters:
            guard record.kind == .parameters, record.requestID == requestID else { return .malformed }
            guard parameterBytes + record.contentLength <= limits.parameterBytes else {
                return .tooLarge(requestID: requestID)
            }
        case .body:
            guard record.kind == .input, record.requestID == requestID else { return .malformed }
            guard bodyBytes + record.contentLength <= limits.bodyBytes else { return .tooLarge(requestID: requestID) }
        }
        return nil
    }

    private mutating func take(_ record: Record, _ content: Span<UInt8>) -> Verdict? {
        switch phase {
        case .begin:
            let isResponder = content[0] == 0 && content[1] == 1
            guard isResponder else { return .malformed }
            requestID = record.requestID
            keepsConnection = content[2] & 1 != 0
            phase = .parameters
        case .parameters where record.contentLength == 0:
            guard pairs.isBetweenPairs else { return .malformed }
            phase = .body
        case .parameters:
            parameterBytes += record.contentLength
            guard pairs.walk(content) else { return .malformed }
        case .body where record.contentLength == 0:
            return .complete(end: record.end)
        case .body:
            bodyBytes += record.contentLength
        }
        return nil
    }

    private func managementVerdict(of record: Record, in bytes: Span<UInt8>) -> Verdict {
        guard record.kind == .getValues, record.contentLength <= 1024 else { return .malformed }
        return bytes.count >= record.end ? .values(end: record.end) : .incomplete
    }
}

/// One record's header (§3.3).
struct Record {
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
    let content: Range<Int>
    let end: Int

    init(_ bytes: Span<UInt8>, at offset: Int) {
        version = bytes[offset]
        kind = Kind(rawValue: bytes[offset + 1])
        requestID = UInt16(bytes[offset + 2]) << 8 | UInt16(bytes[offset + 3])
        contentLength = Int(bytes[offset + 4]) << 8 | Int(bytes[offset + 5])
        let start = offset + Self.headerBytes
        content = start..<start + contentLength
        end = start + contentLength + Int(bytes[offset + 6])
    }
}

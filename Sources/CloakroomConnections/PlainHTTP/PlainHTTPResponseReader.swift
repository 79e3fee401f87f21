import CloakroomHTTP

/// Reads responses of HTTP/1.1 as their bytes arrive, keeps their statuses, and counts the rest (RFC 9112 §4 to §7).
///
/// Lines may end in a line feed alone, as for libcurl.
final class PlainHTTPResponseReader: ResponseReading {
    private enum State {
        case head
        case body(left: Int)
        case bodyUntilEnd
        case chunkSize
        case chunk(left: Int)
        case chunkEnd
        case trailers
    }

    /// As for libcurl: S3 keeps 2 KB of metadata with an object, in up to a thousand fields.
    private static let maximumHeadBytes = 1 << 16
    private static let maximumBodyBytes = 1 << 20

    private var state = State.head
    private var head = PlainHTTPResponseHead()
    /// The beginning of a line whose end has not come.
    private var line: [UInt8] = []
    /// Of the head, or of the trailers.
    private var lineBytes = 0
    private var bodyBytes = 0

    func reset() {
        state = .head
        head = PlainHTTPResponseHead()
        line.removeAll(keepingCapacity: true)
        lineBytes = 0
        bodyBytes = 0
    }

    func read(_ bytes: Span<UInt8>) -> ResponseProgress {
        var offset = 0
        while offset < bytes.count {
            let left = bytes.count - offset
            let progress: ResponseProgress
            switch state {
            case .body(let expected):
                let count = min(left, expected)
                offset += count
                state = .body(left: expected - count)
                progress = take(count, ends: count == expected)
            case .bodyUntilEnd:
                offset += left
                progress = take(left, ends: false)
            case .chunk(let expected):
                let count = min(left, expected)
                offset += count
                state = count == expected ? .chunkEnd : .chunk(left: expected - count)
                progress = take(count, ends: false)
            case .head, .chunkSize, .chunkEnd, .trailers:
                progress = readLine(bytes, &offset)
            }
            switch progress {
            case .incomplete: continue
            case .failed: return progress
            // What follows was not asked for.
            case .complete(let response, let keeps):
                return .complete(response, keepsConnection: keeps && offset == bytes.count)
            }
        }
        return .incomplete
    }

    func end() -> ResponseProgress {
        if case .bodyUntilEnd = state { complete } else { .failed(.interrupted) }
    }

    private var complete: ResponseProgress {
        .complete(UpstreamResponse(status: head.status), keepsConnection: head.keepsConnection)
    }

    private func take(_ count: Int, ends: Bool) -> ResponseProgress {
        bodyBytes += count
        guard bodyBytes <= Self.maximumBodyBytes else { return .failed(.tooLarge) }
        return ends ? complete : .incomplete
    }

    // MARK: Lines

    private func readLine(_ bytes: Span<UInt8>, _ offset: inout Int) -> ResponseProgress {
        let start = offset
        while offset < bytes.count, bytes[offset] != 0x0A { offset += 1 }
        let hasEnd = offset < bytes.count
        let part = bytes.extracting(start..<offset)
        if hasEnd { offset += 1 }
        if case .chunkSize = state { lineBytes = 0 }
        lineBytes += offset - start
        guard lineBytes <= Self.maximumHeadBytes else { return .failed(.tooLarge) }
        if hasEnd, line.isEmpty { return take(line: part) }
        line.append(addingCapacity: part.count) { $0.append(copying: part) }
        guard hasEnd else {
            // What is no HTTP may have no lines either.
            let beginning = line[...]
            if case .head = state, !head.mayBegin(with: beginning.span) { return .failed(.interrupted) }
            return .incomplete
        }
        let whole = line[...]
        line = []
        return take(line: whole.span)
    }

    /// - Parameter line: without its line feed.
    private func take(line: Span<UInt8>) -> ResponseProgress {
        let hasReturn = line.count > 0 && line[line.count - 1] == 0x0D
        let line = line.extracting(droppingLast: hasReturn ? 1 : 0)
        switch state {
        case .head:
            guard line.isEmpty else { return head.read(line) ? .incomplete : .failed(.interrupted) }
            return endHead()
        case .chunkSize:
            guard let size = Self.chunkSize(line) else { return .failed(.interrupted) }
            state = size == 0 ? .trailers : .chunk(left: size)
            return .incomplete
        case .chunkEnd:
            guard line.isEmpty else { return .failed(.interrupted) }
            state = .chunkSize
            return .incomplete
        case .trailers: return line.isEmpty ? complete : .incomplete
        case .body, .bodyUntilEnd, .chunk: preconditionFailure("a body has no lines")
        }
    }

    private func endHead() -> ResponseProgress {
        switch head.body {
        case .none: return complete
        case .interim:
            head = PlainHTTPResponseHead()
            return .incomplete
        case .unusable: return .failed(.interrupted)
        case .length(let count): state = .body(left: count)
        case .chunked: state = .chunkSize
        case .untilEnd: state = .bodyUntilEnd
        }
        return .incomplete
    }

    /// - Returns: `nil` for no hexadecimal number of at most 15 digits; what follows it is passed over (RFC 9112 §7.1.1).
    private static func chunkSize(_ line: Span<UInt8>) -> Int? {
        var (size, digits) = (0, 0)
        while digits < line.count {
            let byte = line[digits]
            let letter = (byte | 0x20) &- UInt8(ascii: "a")
            let value = byte &- UInt8(ascii: "0") < 10 ? byte &- UInt8(ascii: "0") : letter < 6 ? letter + 10 : 16
            guard value < 16 else { break }
            size = size << 4 | Int(value)
            digits += 1
            guard digits < 16 else { return nil }
        }
        return digits == 0 ? nil : size
    }
}

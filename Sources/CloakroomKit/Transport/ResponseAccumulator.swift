import Foundation

/// A response while it arrives.
package struct ResponseAccumulator {
    private enum Destination {
        case memory(maximumBytes: Int)
        case file(TransportFile, offset: Int64)
    }

    /// Of the body of a response that is no success, when there is a file for successes.
    private static let longestExplanation = 64 << 10

    private let destination: Destination
    private let isHead: Bool
    private var head: HTTPResponseHead?
    private var memory = Data()
    private var byteCount: Int64 = 0

    /// - Parameter isHead: whether the method is HEAD.
    /// - Throws: ``HTTPTransportError/unwritableFile(isFull:)``, ``HTTPTransportError/invalidRequest``.
    package init(_ destination: HTTPDestination, isHead: Bool) throws(HTTPTransportError) {
        switch destination {
        case .memory(let maximumBytes): self.destination = .memory(maximumBytes: maximumBytes)
        case .file(let url, let offset):
            guard offset >= 0 else { throw .invalidRequest }
            self.destination = .file(try TransportFile(writing: url), offset: offset)
        }
        self.isHead = isHead
    }

    /// Receives the head; the last one counts, those before are interim ones (100, 103).
    package mutating func begin(_ head: HTTPResponseHead) -> HTTPTransportError? {
        self.head = head
        if case .memory(let maximumBytes) = destination, !isHead, let expected = head.contentLength,
            expected > maximumBytes
        {
            return .tooLarge
        }
        return nil
    }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) -> HTTPTransportError? {
        let isSuccess = head?.isSuccess ?? false
        // For an error's text it is welcome.
        if isSuccess, head?.isDecoded == true, !bytes.isEmpty { return .encoded }
        defer { byteCount += Int64(bytes.count) }
        switch destination {
        case .memory(let maximumBytes):
            guard bytes.count <= maximumBytes - memory.count else { return .tooLarge }
            memory.append(contentsOf: bytes)
        case .file(let file, let offset) where isSuccess:
            do throws(HTTPTransportError) { try file.write(bytes, at: offset + byteCount) } catch { return error }
        case .file:
            memory.append(contentsOf: bytes.prefix(Self.longestExplanation - memory.count))
        }
        return nil
    }

    /// - Parameter last: the head of a response that never began.
    package func finish(_ last: HTTPResponseHead? = nil) -> Result<HTTPResponse, HTTPTransportError> {
        guard let head = head ?? last, isWhole(head) else { return .failure(.interrupted) }
        return .success(HTTPResponse(status: head.status, fields: head.fields, body: memory, byteCount: byteCount))
    }

    /// Whether as much came as was announced. URLSession on Apple's systems does not say so in all cases; on Linux the body of
    /// a redirect that leads nowhere is lost.
    private func isWhole(_ head: HTTPResponseHead) -> Bool {
        guard !isHead, !(300...399 ~= head.status), head.status != 204, !head.isDecoded,
            let announced = head.contentLength
        else { return true }
        return announced == byteCount
    }
}

import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The body of a request, to be read as often as it must be sent.
package final class RequestBodyReader: @unchecked Sendable {
    enum Source {
        case none
        case bytes(Data)
        case file(TransportFile, Range<Int64>, URL)
    }

    let source: Source
    // Set by the reader, on a queue of URLSession or of the pump; read at the end.
    private let lock = NSLock()
    private var couldNotBeRead = false

    /// - Throws: ``HTTPTransportError/unreadableFile`` also for a file that is shorter than the range.
    package init(_ body: HTTPBody) throws(HTTPTransportError) {
        switch body {
        case .none: source = .none
        case .bytes(let data): source = .bytes(data)
        case .file(let url, let range):
            let file = try TransportFile(reading: url)
            guard range.lowerBound >= 0, range.upperBound <= file.size else { throw .unreadableFile }
            source = .file(file, range, url)
        }
    }

    package var byteCount: Int64 {
        switch source {
        case .none: 0
        case .bytes(let data): Int64(data.count)
        case .file(_, let range, _): Int64(range.count)
        }
    }

    /// Whether a byte of it could not be read, though it was there in the beginning.
    package var hasFailed: Bool { lock.withLock { couldNotBeRead } }

    /// - Parameter position: from the beginning of the body, before its end.
    /// - Returns: how many bytes were read, at least one, or `nil` when there are none, which ``hasFailed`` remembers.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at position: Int64) -> Int? {
        let length = Int(min(Int64(buffer.count), byteCount - position))
        switch source {
        case .none: return nil
        case .bytes(let data):
            let start = data.startIndex + Int(position)
            data.copyBytes(to: buffer, from: start..<start + length)
            return length
        case .file(let file, let range, _):
            let output = UnsafeMutableRawBufferPointer(rebasing: buffer[..<length])
            if let count = file.read(into: output, at: range.lowerBound + position), count > 0 { return count }
            lock.withLock { couldNotBeRead = true }
            return nil
        }
    }
}

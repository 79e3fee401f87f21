#if canImport(FoundationNetworking)
    import Foundation
    import FoundationNetworking

    // Every body is a stream here: it is read when libcurl wants more, in chunks of 64 KiB, and can be read again from its
    // beginning when a kept connection turns out to be dead; a body of `Data` cannot, and half of it would be sent.
    extension RequestBodyReader {
        func makeTask(for request: URLRequest, on session: URLSession) -> URLSessionTask {
            guard byteCount > 0 else { return session.dataTask(with: request) }
            var request = request
            request.setValue(String(byteCount), forHTTPHeaderField: "Content-Length")
            // Streams go out in chunks otherwise, which S3 refuses. A blank field is libcurl's way to say: leave it out.
            request.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
            request.httpBodyStream = makeStream()
            return session.dataTask(with: request)
        }

        func makeStream() -> InputStream? { BodyStream(self) }
    }

    /// A body, read from its beginning.
    private final class BodyStream: InputStream {
        private let body: RequestBodyReader
        private var position: Int64 = 0

        init(_ body: RequestBodyReader) {
            self.body = body
            super.init(data: Data())
        }

        override var hasBytesAvailable: Bool { position < body.byteCount }

        override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
            guard hasBytesAvailable else { return 0 }
            let output = UnsafeMutableRawBufferPointer(start: buffer, count: maxLength)
            guard let count = body.read(into: output, at: position) else { return -1 }
            position += Int64(count)
            return count
        }
    }

    extension URLSessionExchangeDelegate {
        /// Runs what is added to it at once, on the session's own serial queue: libcurl continues when the delegate has stored what
        /// came, so that a slow disk slows the network down instead of filling the memory.
        static func makeQueue() -> OperationQueue { ImmediateQueue() }
    }

    private final class ImmediateQueue: OperationQueue, @unchecked Sendable {
        // It holds nothing; the class above it says the same.
        override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
    }
#endif

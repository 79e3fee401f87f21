#if !canImport(FoundationNetworking)
    import Foundation

    extension RequestBodyReader {
        /// Parts of files up to this size are read whole.
        private static var largestInMemory: Int64 { 8 << 20 }

        func makeTask(for request: URLRequest, on session: URLSession) -> URLSessionTask {
            switch source {
            case .none: return session.dataTask(with: request)
            case .bytes(let data): return session.uploadTask(with: request, from: data)
            case .file(let file, let range, let url):
                if range == 0..<file.size { return session.uploadTask(with: request, fromFile: url) }
                if byteCount <= Self.largestInMemory, let data = try? file.bytes(range) {
                    return session.uploadTask(with: request, from: data)
                }
                var request = request
                // Streams go out in chunks without it, which S3 refuses.
                request.setValue(String(byteCount), forHTTPHeaderField: "Content-Length")
                return session.uploadTask(withStreamedRequest: request)
            }
        }

        /// A stream that is fed as it is read, through a buffer of 256 KiB.
        func makeStream() -> InputStream? {
            var input: InputStream?
            var output: OutputStream?
            Stream.getBoundStreams(withBufferSize: 256 << 10, inputStream: &input, outputStream: &output)
            guard let output else { return nil }
            nonisolated(unsafe) let sink = output
            // The queue below is its only user.
            DispatchQueue.global(qos: .utility).async { self.pour(into: sink) }
            return input
        }

        private func pour(into output: OutputStream) {
            output.open()
            defer { output.close() }
            var position: Int64 = 0
            var piece = [UInt8](repeating: 0, count: 256 << 10)
            while position < byteCount {
                guard let count = piece.withUnsafeMutableBytes({ read(into: $0, at: position) }) else { return }
                var written = 0
                while written < count {
                    let more = piece.withUnsafeBufferPointer { buffer in
                        buffer.baseAddress.map { output.write($0 + written, maxLength: count - written) } ?? -1
                    }
                    // Negative or none: URLSession has closed its end.
                    guard more > 0 else { return }
                    written += more
                }
                position += Int64(count)
            }
        }
    }

    extension URLSessionExchangeDelegate {
        /// One delegate call at a time, in order.
        static func makeQueue() -> OperationQueue {
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            return queue
        }
    }
#endif

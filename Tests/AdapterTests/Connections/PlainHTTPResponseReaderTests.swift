import CloakroomHTTP
import Testing

@testable import CloakroomConnections

struct PlainHTTPResponseReaderTests {
    private static let responses = [
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 12\r\n\r\n0123\n56\r\n9ab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0b;x=y\r\n0123456789a\r\n0\r\nX: y\r\n\r\n",
        "HTTP/1.1 200\r\nConnection: x, Keep-Alive\r\nContent-Length:\t0 \r\n\r\n",
    ]

    /// - Returns: what each piece was read as, until one was not ``ResponseProgress/incomplete``.
    private func progress(_ bytes: [UInt8], pieces size: Int, _ reader: PlainHTTPResponseReader) -> [ResponseProgress] {
        var progress: [ResponseProgress] = []
        reader.reset()
        for start in stride(from: 0, to: bytes.count, by: size) {
            let piece = bytes[start..<min(start + size, bytes.count)]
            progress.append(reader.read(piece.span))
            guard progress.last == .incomplete else { return progress }
        }
        return progress
    }

    @Test(arguments: responses) func `a response in pieces of any size ends with its last byte`(text: String) {
        let reader = PlainHTTPResponseReader()
        let whole = ResponseProgress.complete(UpstreamResponse(status: 200), keepsConnection: true)
        for size in 1...text.utf8.count {
            let count = (text.utf8.count + size - 1) / size
            #expect(
                progress(Array(text.utf8), pieces: size, reader) == Array(repeating: .incomplete, count: count - 1) + [
                    whole
                ],
                "pieces of \(size)")
        }
    }

    @Test(arguments: responses + [""]) func `a response that breaks off is interrupted, wherever it does`(text: String)
    {
        let reader = PlainHTTPResponseReader()
        for count in 0..<max(1, text.utf8.count) {
            #expect(!progress(Array(text.utf8.prefix(count)), pieces: 7, reader).contains { $0 != .incomplete })
            #expect(reader.end() == .failed(.interrupted), "after \(count)")
        }
    }

    @Test func `a body without a length is whole at the end, in pieces of any size`() {
        let reader = PlainHTTPResponseReader()
        let text = "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n\r\nHTTP/1.1 500 X\r\n\r\n"
        for size in 1...text.utf8.count {
            #expect(!progress(Array(text.utf8), pieces: size, reader).contains { $0 != .incomplete })
            #expect(reader.end() == .complete(UpstreamResponse(status: 200), keepsConnection: false))
        }
    }

    @Test func `what comes behind a response ends the connection`() {
        let reader = PlainHTTPResponseReader()
        for text in Self.responses {
            #expect(
                progress(Array("\(text)x".utf8), pieces: 1000, reader)
                    == [.complete(UpstreamResponse(status: 200), keepsConnection: false)])
        }
    }

    @Test(arguments: [
        "HTTP/2 200\r\n", "HTTP/1.1  200 OK\r\n", "HTTP/1.1 20\r\n", "HTTP/1.1 099 X\r\n", "HTTP/1.1 2x0 X\r\n",
        " HTTP/1.1 200 OK\r\n", "\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n", "HTTP/1.1 200 OK\r\nContent-Length:\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n",
    ])
    func `what is no head of HTTP is refused at once, in pieces of any size`(text: String) {
        let reader = PlainHTTPResponseReader()
        for size in 1...text.utf8.count {
            #expect(progress(Array(text.utf8), pieces: size, reader).last == .failed(.interrupted), "pieces of \(size)")
        }
    }
}

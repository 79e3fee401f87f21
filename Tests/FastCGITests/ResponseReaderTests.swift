import CloakroomConnections
import CloakroomHTTP
import Testing

@testable import CloakroomFastCGI

struct ResponseReaderTests {
    private let records = ResponseEncoder.records(
        of: Response(status: 201, fields: ["X-A": "b"], body: Array("body".utf8)), to: 1)

    @Test func `reads a response in pieces of any size, one after the other`() {
        let whole = UpstreamResponse(
            status: 201, fields: ["Content-Length": "4", "X-A": "b"], body: Array("body".utf8))
        for size in 1...records.count {
            let reader = ResponseReader(maximumBytes: 1000)
            for _ in 0..<2 {
                var progress: [ResponseProgress] = []
                for start in stride(from: 0, to: records.count, by: size) {
                    let piece = Array(records[start..<min(start + size, records.count)])
                    progress.append(reader.read(piece.span))
                }
                #expect(progress.last == .complete(whole, keepsConnection: true), "\(size)")
                #expect(progress.dropLast().allSatisfy { $0 == .incomplete })
                reader.reset()
            }
        }
    }
}

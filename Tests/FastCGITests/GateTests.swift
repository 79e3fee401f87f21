import CloakroomTestSupport
import Testing

@testable import CloakroomFastCGI

struct GateTests {
    static let limits = Gate.Limits(parameterBytes: 4096, bodyBytes: 1000)

    static func walk(_ bytes: [UInt8], limits: Gate.Limits = limits) -> Gate.Verdict {
        var gate = Gate(limits: limits)
        return gate.walk(bytes.span)
    }

    /// What one gate says as the bytes arrive in pieces.
    static func walk(_ bytes: [UInt8], cutAt cuts: [Int]) -> Gate.Verdict {
        var gate = Gate(limits: limits)
        for end in cuts + [bytes.count] {
            let verdict = gate.walk(Array(bytes[..<end]).span)
            guard verdict == .incomplete else { return verdict }
        }
        return .incomplete
    }

    static let sample: FastCGIRequest = {
        var request = FastCGIRequest(
            method: "POST", target: "/v2/assets/renew-batch?x=1", body: Array(#"{"assetKeys":["a.bin"]}"#.utf8))
        request.parameters += [("HTTP_AUTHORIZATION", String(repeating: "t", count: 200)), ("EMPTY", "")]
        return request
    }()

    @Test(arguments: [0, 1, 7, 255], [1, 2, 3, 8, 65_535])
    func `passes a request, however its streams are cut into records`(padding: Int, recordBytes: Int) {
        var request = Self.sample
        request.padding = UInt8(padding)
        request.recordBytes = recordBytes
        let bytes = request.bytes
        #expect(Self.walk(bytes) == .complete(end: bytes.count))
    }

    @Test(arguments: [1, 2, 255, 256, 65_535] as [UInt16]) func `takes any id but that of management`(id: UInt16) {
        var request = Self.sample
        request.id = id
        #expect(Self.walk(request.bytes) == .complete(end: request.bytes.count))
        request.id = 0
        #expect(Self.walk(request.bytes) == .malformed)
    }

    @Test func `says the same wherever the bytes were cut on their way`() {
        var request = Self.sample
        request.padding = 3
        request.recordBytes = 50
        let bytes = request.bytes
        let complete = Gate.Verdict.complete(end: bytes.count)
        for cut in 0..<bytes.count {
            #expect(Self.walk(Array(bytes[..<cut])) == .incomplete)
            #expect(Self.walk(bytes, cutAt: [cut]) == complete)
        }
        #expect(Self.walk(bytes, cutAt: Array(0..<bytes.count)) == complete)
    }

    @Test func `leaves what follows for the next request`() {
        let bytes = Self.sample.bytes
        #expect(Self.walk(bytes + bytes) == .complete(end: bytes.count))
        #expect(Self.walk(bytes + [0]) == .complete(end: bytes.count))
    }

    @Test func `passes a request without parameters or body`() {
        let bytes = FastCGIRequest([]).bytes
        #expect(Self.walk(bytes) == .complete(end: bytes.count))
    }

    @Test func `keeps to its limits, to the byte`() {
        func verdict(parameters: Int, body: Int) -> Gate.Verdict {
            // Two bytes of name length and name, four of value length.
            let value = String(repeating: "v", count: parameters - 6)
            return Self.walk(FastCGIRequest([("N", value)], body: [UInt8](repeating: 0, count: body)).bytes)
        }
        let whole = FastCGIRequest(
            [("N", String(repeating: "v", count: 4090))], body: [UInt8](repeating: 0, count: 1000)
        ).bytes.count
        #expect(verdict(parameters: 4096, body: 1000) == .complete(end: whole))
        #expect(verdict(parameters: 4097, body: 0) == .tooLarge(requestID: 1))
        #expect(verdict(parameters: 4096, body: 1001) == .tooLarge(requestID: 1))
    }

    @Test func `refuses what is too large by its announcement, before it has come`() {
        let request = FastCGIRequest([])
        let start = request.record(1, [0, 1, 1, 0, 0, 0, 0, 0])
        #expect(Self.walk(start + [1, 4, 0, 1, 0xFF, 0xFF, 0, 0]) == .tooLarge(requestID: 1))
        let parameters = start + request.record(4, [])
        #expect(Self.walk(parameters + [1, 5, 0, 1, 0x03, 0xE9, 0, 0]) == .tooLarge(requestID: 1))
        #expect(Self.walk(parameters + [1, 5, 0, 1, 0x03, 0xE8, 0, 0]) == .incomplete)
    }

    @Test(
        arguments: [
            ("", []), ("FCGI_MAX_CONNS", [14, 0] + Array("FCGI_MAX_CONNS".utf8)),
        ] as [(String, [UInt8])])
    func `knows a question about the application`(name: String, content: [UInt8]) {
        var asking = FastCGIRequest([])
        asking.id = 0
        let question = asking.record(9, content)
        #expect(Self.walk(question) == .values(end: question.count))
        #expect(Self.walk(question + Self.sample.bytes) == .values(end: question.count))
        for cut in question.indices { #expect(Self.walk(Array(question[..<cut])) == .incomplete) }
    }

    @Test func `takes no other management record, and none without bound`() {
        var asking = FastCGIRequest([])
        asking.id = 0
        #expect(Self.walk(asking.record(9, [UInt8](repeating: 0, count: 1025))) == .malformed)
        for kind in UInt8.min ... .max where kind != 9 { #expect(Self.walk(asking.record(kind, [])) == .malformed) }
        let start = Self.sample.record(1, [0, 1, 1, 0, 0, 0, 0, 0])
        #expect(Self.walk(start + asking.record(9, [])) == .malformed)
    }
}

import CloakroomTestSupport
import Testing

@testable import CloakroomFastCGI

struct HostileRecordTests {
    private static let request = GateTests.sample
    private static let begin = request.record(1, [0, 1, 1, 0, 0, 0, 0, 0])
    private static let parameters = begin + request.record(4, request.pairs) + request.record(4, [])

    private static let other: FastCGIRequest = {
        var other = request
        other.id = 2
        return other
    }()

    @Test(
        arguments: [
            ("another version", [2] + begin.dropFirst()),
            ("version 0", [0] + begin.dropFirst()),
            ("HTTP", Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8)),
            ("TLS", [0x16, 3, 1, 2, 0, 1, 0, 1]),
            ("no beginning", request.record(4, request.pairs)),
            ("a short beginning", request.record(1, [0, 1, 1, 0, 0, 0, 0])),
            ("a long beginning", request.record(1, [0, 1, 1, 0, 0, 0, 0, 0, 0])),
            ("an empty beginning", request.record(1, [])),
            ("an authorizer", request.record(1, [0, 2, 1, 0, 0, 0, 0, 0])),
            ("a filter", request.record(1, [0, 3, 1, 0, 0, 0, 0, 0])),
            ("an unknown role", request.record(1, [1, 1, 1, 0, 0, 0, 0, 0])),
            ("two beginnings", begin + begin),
            ("an abort among the parameters", begin + request.record(2, [])),
            ("an abort in the body", parameters + request.record(2, [])),
            ("a body before the parameters end", begin + request.record(5, [])),
            ("parameters after their end", parameters + request.record(4, request.pairs)),
            ("output of ours", begin + request.record(6, [1])),
            ("data of a filter", parameters + request.record(8, [])),
            ("an unknown record", parameters + request.record(200, [])),
            ("another id among the parameters", begin + other.record(4, request.pairs)),
            ("another id in the body", parameters + other.record(5, [])),
        ] as [(String, [UInt8])])
    func `refuses`(what: String, bytes: [UInt8]) {
        #expect(GateTests.walk(bytes) == .malformed)
        #expect(GateTests.walk(bytes, cutAt: Array(0..<bytes.count)) == .malformed)
    }

    @Test(
        arguments: [
            ("a name without a length for the value", [1]),
            ("a name beyond the end", [5, 0, 0x41]),
            ("a value beyond the end", [1, 5, 0x41, 0x42]),
            ("half a long length", [0x80, 0, 0]),
            ("the longest name there is", [0xFF, 0xFF, 0xFF, 0xFF, 0, 0x41]),
            ("the longest value there is", [1, 0xFF, 0xFF, 0xFF, 0xFF, 0x41]),
            ("no name", [0, 1, 0x41]),
            ("no name by a long length", [0x80, 0, 0, 0, 1, 0x41]),
            ("neither name nor value", [0, 0]),
            ("an end in a name", [2, 0, 0x41, 0]),
            ("an end in a value", [1, 2, 0x41, 0, 0x42]),
        ] as [(String, [UInt8])])
    func `refuses parameters with`(what: String, pairs: [UInt8]) {
        let bytes = Self.begin + Self.request.record(4, pairs) + Self.request.record(4, []) + Self.request.record(5, [])
        #expect(GateTests.walk(bytes) == .malformed)
        let single = pairs.flatMap { Self.request.record(4, [$0]) }
        #expect(GateTests.walk(Self.begin + single + Self.request.record(4, [])) == .malformed)
    }

    @Test func `follows pairs across records, whatever the cut`() {
        let pairs = Self.request.pairs
        for cut in 0...pairs.count {
            #expect(Self.isBetweenPairs(after: [Array(pairs[..<cut]), Array(pairs[cut...])]) == true)
        }
    }

    @Test func `knows when a pair is not whole`() {
        let pairs = FastCGIRequest([("AB", "c")]).pairs
        for cut in 1..<pairs.count {
            #expect(Self.isBetweenPairs(after: [Array(pairs[..<cut])]) == false)
        }
    }

    /// - Returns: `nil` for what can be no pairs.
    private static func isBetweenPairs(after pieces: [[UInt8]]) -> Bool? {
        var walker = PairWalker()
        for piece in pieces {
            guard walker.walk(piece.span) else { return nil }
        }
        return walker.isBetweenPairs
    }
}

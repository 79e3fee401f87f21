import CloakroomHTTP
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomFastCGI

struct MutatedRequestTests {
    private static let seeds: [FastCGIRequest] = {
        var cut = GateTests.sample
        cut.recordBytes = 40
        cut.padding = 5
        return [GateTests.sample, cut, FastCGIRequest(target: "/"), FastCGIRequest([])]
    }()

    private static func mutated(_ generator: inout SeededGenerator) -> [UInt8] {
        let seed = seeds.randomElement(using: &generator) ?? seeds[0]
        var bytes = seed.bytes.mutated(using: &generator)
        if Int.random(in: 0..<8, using: &generator) == 0 { bytes += seed.bytes }
        return bytes
    }

    @Test func `says of spoilt requests the same in one piece as in several, and what is true`() {
        var generator = SeededGenerator(seed: 16)
        var complete = 0
        for _ in 0..<30_000 {
            let bytes = Self.mutated(&generator)
            let verdict = GateTests.walk(bytes)
            let cuts = (0..<3).map { _ in Int.random(in: 0...bytes.count, using: &generator) }.sorted()
            #expect(GateTests.walk(bytes, cutAt: cuts) == verdict)
            if case .complete(let end) = verdict {
                complete += 1
                #expect(PlainReading(bytes)?.end == end)
            }
        }
        // Else the dice say nothing about what passes.
        #expect(complete > 2000)
    }

    /// libfcgi aborts on lengths that reach beyond their record: the process would be gone.
    @Test(.onLoop, arguments: LibFCGIParser.Source.allCases)
    @LoopActor func `lets nothing through that libfcgi does not survive`(source: LibFCGIParser.Source) {
        var generator = SeededGenerator(seed: 17)
        let parser = LibFCGIParser(source)
        let fields = FieldTable(["Authorization"])
        for _ in 0..<30_000 {
            let bytes = Self.mutated(&generator)
            guard case .complete(let end) = GateTests.walk(bytes) else { continue }
            let request = parser.parse(bytes[..<end], fields: fields)
            #expect(request == nil || request?.body == PlainReading(bytes)?.body)
        }
    }
}

/// FastCGI read in the plainest way, to hold the gate against.
private struct PlainReading {
    let end: Int
    let body: [UInt8]

    init?(_ bytes: [UInt8]) {
        var streams: [UInt8: [UInt8]] = [:]
        var start = 0
        var id: [UInt8]?
        while start + 8 <= bytes.count {
            let header = bytes[start..<start + 8].map(Int.init)
            let content = start + 8..<start + 8 + header[4] << 8 + header[5]
            let next = content.upperBound + header[6]
            guard header[0] == 1, next <= bytes.count else { return nil }
            let recordID = Array(bytes[start + 2..<start + 4])
            guard recordID == id ?? recordID, recordID != [0, 0] else { return nil }
            id = recordID
            streams[UInt8(header[1]), default: []] += bytes[content]
            start = next
            if header[1] == 5, content.isEmpty {
                guard streams.keys.sorted() == [1, 4, 5], Self.arePairs(streams[4] ?? []) else { return nil }
                end = start
                body = streams[5] ?? []
                return
            }
        }
        return nil
    }

    private static func arePairs(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        func length() -> Int? {
            guard let first = rest.popFirst() else { return nil }
            guard first > 127 else { return Int(first) }
            let more = rest.prefix(3)
            rest = rest.dropFirst(3)
            return more.count == 3 ? more.reduce(Int(first & 0x7F)) { $0 << 8 | Int($1) } : nil
        }
        while !rest.isEmpty {
            guard let name = length(), let value = length(), name > 0, rest.count >= name + value,
                !rest.prefix(name + value).contains(0)
            else { return false }
            rest = rest.dropFirst(name + value)
        }
        return true
    }
}

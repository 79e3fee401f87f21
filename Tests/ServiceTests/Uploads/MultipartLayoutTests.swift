import CloakroomAWS
import Testing

@testable import CloakroomServer

struct MultipartLayoutTests {
    private static let mebibyte = 1 << 20

    private static let layouts: [(bytes: Int, part: Int, count: Int, last: Int)] = [
        (1, 8 * mebibyte, 1, 1), (8 * mebibyte, 8 * mebibyte, 1, 8 * mebibyte),
        (8 * mebibyte + 1, 8 * mebibyte, 2, 1), (8000 * mebibyte, 8 * mebibyte, 1000, 8 * mebibyte),
        (8000 * mebibyte + 1, 9 * mebibyte, 889, 8 * mebibyte + 1),
        (5000 << 30, 5 << 30, 1000, 5 << 30), ((5000 << 30) + 1, 5 << 30, 1001, 1),
        (MultipartLayout.maximumBytes, 5 << 30, 10_000, 5 << 30),
    ]

    @Test(arguments: layouts)
    func `cuts into parts that S3 takes`(bytes: Int, part: Int, count: Int, last: Int) throws {
        let plan = MultipartLayout(byteCount: bytes)
        #expect(plan.partBytes == part && plan.partCount == count && plan.byteCount(ofPart: count) == last)
        #expect((1...count).reduce(0) { $0 + plan.byteCount(ofPart: $1) } == bytes)
        #expect(MultipartLayout(byteCount: bytes, partBytes: part) == plan)
    }

    @Test func `an older plan must still be one that S3 takes`() {
        #expect(MultipartLayout(byteCount: 0, partBytes: 8 << 20) == nil)
        #expect(MultipartLayout(byteCount: 1, partBytes: 1) == nil)
        #expect(MultipartLayout(byteCount: 1, partBytes: 6 << 30) == nil)
        #expect(MultipartLayout(byteCount: 10_000 * (5 << 20) + 1, partBytes: 5 << 20) == nil)
        #expect(MultipartLayout(byteCount: 10_000 * (5 << 20), partBytes: 5 << 20)?.partCount == 10_000)
    }

    @Test func `reads which parts are asked for`() throws {
        let plan = MultipartLayout(byteCount: 150 * (8 << 20))
        for (query, numbers) in [
            ("numbers=1", 1...1), ("numbers=150", 150...150), ("numbers=1-100", 1...100),
            ("numbers=51-150", 51...150),
        ] { #expect(try plan.numbers(query: query) == numbers) }
        for query in [
            "", "numbers=", "numbers=0", "numbers=0-5", "numbers=151", "numbers=1-101", "numbers=100-151",
            "numbers=5-4", "numbers=+5", "numbers=05", "numbers=%205", "numbers=1-+5", "numbers=01-5", "numbers=1-05",
            "numbers=-5", "numbers=1-", "numbers=1-2-3", "numbers=a", "numbers=1&numbers=2",
            "numbers=1&x=2", "number=1", "numbers=99999999999999999999", "numbers=1-9223372036854775807",
        ] { #expect(throws: UploadRules.Refusal.partNumbers(count: 150)) { try plan.numbers(query: query) } }
    }

    private static func part(_ number: Int, _ tag: String, _ bytes: Int) -> UploadedPart {
        UploadedPart(number: number, entityTag: "\"\(tag)\"", byteCount: bytes)
    }

    private static let plan = MultipartLayout(byteCount: (8 << 20) + 3)
    private static let whole = [part(1, "a", 8 << 20), part(2, "b", 3)]

    @Test func `completes with each part once, whole, and with the tag that the client knows`() throws {
        #expect(try Self.plan.matching(Self.whole.reversed(), etags: nil) == Self.whole)
        #expect(try Self.plan.matching(Self.whole, etags: ["a", "\"b\""]) == Self.whole)
        let again = [Self.part(1, "x", 8 << 20), Self.part(1, "y", 9 << 20), Self.part(3, "z", 1)] + Self.whole
        #expect(try Self.plan.matching(again, etags: ["a", "b"]) == Self.whole)
        #expect(try Self.plan.matching(again, etags: ["x", "b"])[0].entityTag == "\"x\"")
    }

    @Test(
        arguments: [
            ([], nil, .missing(1)), ([whole[0]], nil, .missing(2)), ([whole[0]], ["a", "b"], .missing(2)),
            ([part(1, "a", 8 << 20), part(2, "b", 4)], nil, .length(2, is: 4, expected: 3)),
            (whole, ["a", "c"], .tag(2)), (whole, ["a"], .tagCount(1, expected: 2)),
            (whole, ["a", "b", "c"], .tagCount(3, expected: 2)),
        ] as [([UploadedPart], [String]?, UploadCompletionRefusal)])
    func `does not complete`(stored: [UploadedPart], etags: [String]?, fault: UploadCompletionRefusal) {
        #expect(throws: fault) { try Self.plan.matching(stored, etags: etags) }
    }
}

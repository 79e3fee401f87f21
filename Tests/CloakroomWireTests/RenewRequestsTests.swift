import CloakroomWire
import Testing

struct RenewRequestsTests {
    private func outcome(_ text: String) -> Result<[String], RenewRequestError> {
        outcome(Array(text.utf8))
    }

    private func outcome(_ bytes: [UInt8]) -> Result<[String], RenewRequestError> {
        Result { () throws(RenewRequestError) in try RenewBatchRequest(parsing: bytes).assetKeys }
    }

    private func keys(_ count: Int) -> String {
        #"{"assetKeys":[\#((0..<count).map { "\"k\($0).bin\"" }.joined(separator: ","))]}"#
    }

    @Test func `keeps keys as they came, duplicates and impossible ones too`() {
        let text = #" {"assetKeys": ["a.bin", "a.bin", "", "../é\u0000\n", "e\u0301"], "more": {"a": [1]}} "#
        #expect(outcome(text) == .success(["a.bin", "a.bin", "", "../é\u{0}\n", "e\u{301}"]))
    }

    @Test(arguments: [1, 99, 100])
    func `takes up to a hundred keys`(count: Int) throws {
        #expect(try outcome(keys(count)).get().count == count)
    }

    @Test(arguments: [101, 5000])
    func `refuses more, in the words clients know`(count: Int) {
        #expect(outcome(keys(count)) == .failure(.tooManyKeys))
        #expect(RenewRequestError.tooManyKeys.rawValue == "Maximum 100 keys per request")
    }

    @Test(arguments: [
        "{}", #"{"assetKeys":[]}"#, #"{"assetKeys":null}"#, #"{"assetKeys":"a.bin"}"#, #"{"assetKeys":{"0":"a"}}"#,
        #"{"assetkeys":["a.bin"]}"#, #"{"assetKeys\u0000":["a.bin"]}"#,
    ])
    func `asks for keys where there are none`(text: String) {
        #expect(outcome(text) == .failure(.noKeys))
        #expect(RenewRequestError.noKeys.rawValue == "assetKeys must be a non-empty array")
    }

    @Test(arguments: [
        "", " ", "null", "[]", "\"a\"", "{", #"{"assetKeys":["a.bin"]"#, #"{"assetKeys":["a.bin"]}}"#,
        #"{"assetKeys":["a.bin",]}"#, #"{"assetKeys":["a.bin",1]}"#, #"{"assetKeys":[null]}"#,
        #"{"assetKeys":[["a"]]}"#,
        #"{"assetKeys":["a.bin"],"assetKeys":["b.bin"]}"#, #"{"assetKeys":["a.bin"],"asset\u004beys":["b.bin"]}"#,
        #"{"a":1,"a":2,"assetKeys":["a.bin"]}"#, #"{'assetKeys':['a.bin']}"#, #"{"assetKeys":["\ud800"]}"#,
        "{\"assetKeys\":[\"a\nb\"]}", "\u{feff}{\"assetKeys\":[\"a\"]}", "{\"assetKeys\":[\"a\"]}\u{0}",
        "{\"assetKeys\":[\"a\"],\"x\":\(String(repeating: "[", count: 20))\(String(repeating: "]", count: 20))}",
    ])
    func `refuses a body that is no request`(text: String) {
        #expect(outcome(text) == .failure(.invalidBody))
        #expect(RenewRequestError.invalidBody.rawValue == "Invalid request body")
    }

    @Test func `refuses what is not UTF-8`() {
        #expect(outcome(Array(#"{"assetKeys":["a"#.utf8) + [0xFF] + Array(#""]}"#.utf8)) == .failure(.invalidBody))
        #expect(
            outcome(Array(#"{"assetKeys":["a"#.utf8) + [0xC0, 0xAF] + Array(#""]}"#.utf8)) == .failure(.invalidBody))
    }

    @Test func `takes one key`() throws {
        #expect(try RenewOneRequest(parsing: Array(#"{"assetKey":"a.bin"}"#.utf8)).assetKey == "a.bin")
        for text in ["{}", #"{"assetKey":1}"#, #"{"assetKey":["a"]}"#, "[]", ""] {
            #expect(throws: RenewRequestError.invalidBody) { try RenewOneRequest(parsing: Array(text.utf8)) }
        }
    }
}

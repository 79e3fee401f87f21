import Testing

@testable import CloakroomServer

struct QueryNumberTests {
    @Test(arguments: [("0", 0), ("7", 7), ("900", 900), ("9223372036854775807", Int.max)])
    func `reads decimal digits`(text: String, number: Int) { #expect(QueryParameters.integer(text) == number) }

    @Test(arguments: [
        "", "+5", "-5", " 5", "5 ", "05", "00", "5.0", "5e1", "0x5", "5_0", "\u{665}", "9223372036854775808",
    ])
    func `refuses whatever else stands for a number`(text: String) { #expect(QueryParameters.integer(text) == nil) }

    @Test(arguments: ["+900", "0900", "%20900", "900%20"])
    func `every route that takes a number refuses it`(text: String) throws {
        let settings = try settings(smallest())
        let rules = UploadRules(settings.uploads)
        #expect(throws: UploadRules.Refusal.self) {
            try PutUploadParameters(query: "contentType=image/jpeg&contentLength=\(text)", rules: rules)
        }
        #expect(throws: UploadRules.Refusal.self) {
            try MultipartLayout(byteCount: 1 << 35).numbers(query: "numbers=\(text)")
        }
        let good = try PutUploadParameters(query: "contentType=image/jpeg&contentLength=900", rules: rules)
        #expect(good.contentLength == 900)
    }
}

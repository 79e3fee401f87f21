import Testing

@testable import CloakroomServer

struct QueryParametersTests {
    @Test func `decodes names and values once`() {
        let parameters = QueryParameters("a%3Db=%2541&c=d=e&f&=g&%C3%A4=%F0%9F%98%80")
        let names = ["a=b", "c", "f", "", "ä", "g"]
        #expect(names.map { parameters?[$0] } == ["%41", "d=e", "", "g", "😀", nil])
    }

    @Test func `a plus sign is a blank in a form, and itself in a query`() {
        #expect(QueryParameters("a+b=c+d")?["a+b"] == "c+d")
        #expect(QueryParameters(form: "a+b=c+d%2B")?["a b"] == "c d+")
    }

    @Test(arguments: ["", "&", "&&&"])
    func `has none where there are only separators`(text: String) { #expect(QueryParameters(text)?.names == []) }

    @Test(arguments: [
        "a=1&a=2", "a=1&%61=2", "a&a", "a=%", "a=%4", "a=%4g", "%zz=1", "a=%ff", "a=1&b=%c3", "a=%4&1", "%6=1",
    ])
    func `refuses names that come twice, broken escapes, and bytes that are not UTF-8`(text: String) {
        #expect(QueryParameters(text)?.names == nil)
        #expect(QueryParameters(form: text)?.names == nil)
    }

    @Test func `takes 64 parameters, and no more`() {
        let text = (0..<64).map { "a\($0)=\($0)" }.joined(separator: "&")
        #expect(QueryParameters(text)?["a63"] == "63")
        #expect(QueryParameters(text + "&")?.names.count == 64)
        #expect(QueryParameters(text + "&b=1")?.names == nil)
    }

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

import HTTPValues
import Testing

struct HeaderFieldsTests {
    @Test func `finds a field whatever the case of its name`() {
        let fields: HeaderFields = ["Content-Type": "text/plain"]
        #expect(fields["content-type"] == "text/plain")
        #expect(fields["Content-Typ"] == nil)
    }

    @Test func `replaces every value of a name`() {
        var fields: HeaderFields = ["A": "1", "b": "2", "a": "3"]
        fields["A"] = "4"
        #expect(fields == ["b": "2", "A": "4"])
        fields["a"] = nil
        #expect(fields == ["b": "2"])
    }
}

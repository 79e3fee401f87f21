import CloakroomHTTP
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

    @Test func `gives back names and values as they were, empty ones too`() {
        var fields: HeaderFields = ["A": "", "b": "x: y"]
        fields.add("C", [0x31, 0x20, 0x32].span)
        #expect(fields.map(\.name) == ["A", "b", "C"])
        #expect(fields.map(\.value) == ["", "x: y", "1 2"])
        #expect(fields["c"] == "1 2")
    }

    @Test func `prints no value that opens something`() {
        #expect("\(["a": "1", "Authorization": "Bearer x"] as HeaderFields)" == "a: 1; Authorization: <secret>")
    }

    @Test func `keeps its lines packed, each ended by a NUL`() {
        let fields: HeaderFields = ["a": "1", "b": ""]
        #expect(fields.text == Array("a: 1\0b: \0".utf8))
        #expect(fields.locations.map { String(decoding: fields.text[$0.line], as: UTF8.self) } == ["a: 1", "b: "])
    }
}

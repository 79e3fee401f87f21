import Foundation
import CloakroomJSON
import Testing

/// The published cases, in `Vectors/JSONTestSuite.json`, where their source is named.
struct JSONTestSuite: Decodable {
    let cases: [String: Data]

    static func named(_ prefix: String) throws -> [(name: String, bytes: [UInt8])] {
        let url = try #require(Bundle.module.url(forResource: "Vectors/JSONTestSuite", withExtension: "json"))
        let suite = try JSONDecoder().decode(Self.self, from: Data(contentsOf: url))
        return suite.cases.filter { $0.key.hasPrefix(prefix) }.sorted { $0.key < $1.key }.map {
            ($0.key, Array($0.value))
        }
    }
}

struct JSONTests {
    /// RFC 8259 §4 lets these be; they are refused here on purpose.
    private static let duplicates = ["y_object_duplicated_key", "y_object_duplicated_key_and_value"]

    @Test func `takes what every reader must take, but no name twice`() throws {
        let cases = try JSONTestSuite.named("y_")
        let refused = cases.filter { (try? JSON(parsing: $0.bytes)) == nil }
        #expect(cases.count > 90)
        #expect(refused.map(\.name) == Self.duplicates)
    }

    @Test func `refuses what every reader must refuse`() throws {
        let cases = try JSONTestSuite.named("n_")
        let taken = cases.filter { (try? JSON(parsing: $0.bytes)) != nil }
        #expect(cases.count > 150)
        #expect(taken.map(\.name) == [])
    }

    /// Numbers beyond a Double, half pairs, not UTF-8, a byte order mark, depth: all refused; large integers are rounded.
    @Test func `takes of the open cases only numbers it can hold`() throws {
        let taken = try JSONTestSuite.named("i_").filter { (try? JSON(parsing: $0.bytes)) != nil }
        #expect(
            taken.map(\.name) == [
                "i_number_double_huge_neg_exp", "i_number_real_underflow", "i_number_too_big_neg_int",
                "i_number_too_big_pos_int", "i_number_very_big_negative_int",
            ])
    }

    @Test(arguments: ["[", "{\"a\":"])
    func `refuses depth before the stack ends`(opening: String) {
        let text = Array(String(repeating: opening, count: 100_000).utf8)
        #expect(throws: JSONError.tooDeep) { try JSON(parsing: text) }
    }

    @Test func `keeps values and the order of members`() throws {
        let text = #" {"b": [1, -2.5e1, true, null], "a": "\u00e9\ud83d\ude00\n", "": {}} "#
        #expect(
            try JSON(parsing: Array(text.utf8))
                == ["b": .array([.number(1), .number(-25), .bool(true), .null]), "a": .string("é😀\n"), "": [:]])
    }

    @Test func `takes names for the same only when their bytes are`() throws {
        // Canonically equivalent, so equal to Swift's ==.
        let text = #"{"\u00e9": 1, "e\u0301": 2}"#
        #expect(try JSON(parsing: Array(text.utf8)).object?["e\u{301}"] == .number(2))
        #expect(throws: JSONError.self) { try JSON(parsing: Array(#"{"a": 1, "\u0061": 2}"#.utf8)) }
    }

    @Test func `finds a double name among many`() {
        let members = (0..<40).map { "\"k\($0 % 39)\":0" }.joined(separator: ",")
        #expect(throws: JSONError.self) { try JSON(parsing: Array("{\(members)}".utf8)) }
    }

    @Test func `writes no byte that a terminal obeys`() {
        for byte in UInt8.min...0x7F {
            var writer = JSONWriter()
            writer.string("padding" + String(UnicodeScalar(byte)))
            #expect(writer.bytes.allSatisfy { (0x20..<0x7F).contains($0) }, "\(byte)")
        }
    }

    @Test(arguments: [0, 7, 10, -1, 99, 100, 1_234_567_890, .max, .min])
    func `writes numbers`(number: Int) {
        var writer = JSONWriter()
        writer.integer(number)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == String(number))
    }

    @Test func `writes digits, members and lines into the same memory`() {
        var start = JSONWriter()
        start.beginObject()
        start.member("time", "t")
        var writer = JSONWriter()
        writer.string("forgotten")
        writer.startAgain()
        for number in 1...2 {
            writer.resume(start.bytes[...])
            writer.member("number", number)
            writer.member("text", "ü\"")
            writer.plainName("id")
            writer.plainString(count: 16) { $0.append(hexadecimal: 0x0123_4567_89AB_CDEF) }
            writer.plainName("digest")
            writer.plainString(count: 32) {
                $0.append(hexadecimal: [0, 9, 10, 15, 16, 159, 160, 249, 250, 255, 1, 2, 3, 4, 5, 6])
            }
            writer.members(Array(#""a":"b","c":1"#.utf8))
            writer.plainName("last")
            writer.bool(true)
            writer.endObject()
            writer.endLine()
        }
        func line(_ number: Int) -> String {
            #"{"time":"t","number":\#(number),"text":"ü\"","id":"0123456789abcdef","#
                + #""digest":"00090a0f109fa0f9faff010203040506","a":"b","c":1,"last":true}"# + "\n"
        }
        #expect(String(decoding: writer.bytes, as: UTF8.self) == line(1) + line(2))
    }

    @Test func `writes a member in one go, or leaves it alone where it must be escaped`() {
        for length in 0...20 {
            for place in 0..<max(1, length) {
                for byte in UInt8.min...0x7F where length > 0 {
                    var text = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                    text[place] = byte
                    var writer = JSONWriter()
                    let isPlain = writer.plainMember("n", String(decoding: text, as: UTF8.self))
                    #expect(isPlain == ((0x20..<0x7F).contains(byte) && byte != 0x22 && byte != 0x5C))
                    #expect(writer.bytes == (isPlain ? Array("\"n\":\"".utf8) + text + [0x22] : []))
                }
            }
        }
        var writer = JSONWriter()
        let (takesNothing, takesOther) = (writer.plainMember("n", ""), writer.plainMember("m", "é"))
        #expect(takesNothing && !takesOther)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == #""n":"""#)
    }

    @Test func `writes what it reads`() throws {
        let text = #"{"a":["\"\\\n\r\t\u0001é/"],"b":-3,"c":1.5,"d":{},"e":[],"f":false,"g":null}"#
        #expect(try JSON(parsing: Array(text.utf8)).text == text)
    }
}

struct JSON5Tests {
    @Test func `escapes what must be escaped, wherever it stands among other bytes`() throws {
        for length in 0...40 {
            for place in 0...length {
                for special in ["\"", "\\", "\n", "\u{0}", "\u{1F}", "é", "\u{7F}", "\u{FFFD}", "!"] {
                    let text =
                        String(repeating: "a", count: place) + special + String(repeating: "z", count: length - place)
                    var writer = JSONWriter()
                    writer.string(text)
                    #expect(try JSON(parsing: writer.bytes) == .string(text))
                }
            }
        }
    }

    @Test func `reads the features of JSON5`() throws {
        let text = """
            // a comment
            { unquoted: 'single "quotes"', /* another */ $a_1: +0x1F, "b": .5, c: 5., d: -1e-1,
              line: 'one \\
            two', hex: '\\x41\\'', array: [1, 2,], empty: {}, }
            """
        let read = try JSON(parsingJSON5: Array(text.utf8)).text
        #expect(
            read
                == #"{"unquoted":"single \"quotes\"","$a_1":31,"b":0.5,"c":5,"d":-0.1,"line":"one two","hex":"A'","array":[1,2],"empty":{}}"#
        )
    }

    @Test(arguments: [
        "\t", "\n", "\u{B}", "\u{C}", "\r", " ", "\u{A0}", "\u{2028}", "\u{2029}", "\u{FEFF}", "/**/", "//\n", "//\r",
    ])
    func `takes all that is space to JSON5`(space: String) throws {
        for name in ["'a'", "a"] {
            let text = ["", "{", name, ":", "[", "1", ",", "]", "}", ""].joined(separator: space)
            #expect(try JSON(parsingJSON5: Array(text.utf8)).text == #"{"a":[1]}"#)
        }
    }

    @Test(arguments: [
        "", "{", "{a}", "{a 1}", "{a: 1 b: 2}", "{,}", "[,]", "[1,,2]", "'a", "'a\nb'", "/* x", "/", "{a: }", "0x",
        "01", "1 2", "+",
        "NaN", "Infinity", "--1", "1e", ".", "nul", "{1a: 1}", "'\\q'", "'\\x4'", "\u{0}",
    ])
    func `refuses what is not JSON5, or nobody means`(text: String) {
        #expect(throws: JSONError.self) { try JSON(parsingJSON5: Array(text.utf8)) }
    }

    @Test func `says where a name stands again`() {
        #expect(throws: JSONError.duplicateName(at: 7)) { try JSON(parsingJSON5: Array("{a: 1, 'a': 2}".utf8)) }
    }

    @Test func `takes the JSON that JSON takes`() throws {
        let refused = try JSONTestSuite.named("y_").filter { (try? JSON(parsingJSON5: $0.bytes)) == nil }
        #expect(refused.map(\.name) == ["y_object_duplicated_key", "y_object_duplicated_key_and_value"])
    }
}

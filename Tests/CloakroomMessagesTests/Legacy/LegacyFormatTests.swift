import CloakroomJSON
@testable import CloakroomMessages
import Foundation
import Testing

/// How files of an older app are read.
@Suite struct LegacyFormatTests {
    @Test(arguments: [
        ("[]", 0), (" [ ] ", 0), (#"{"a":{"b":["]"]},"messages":[1,[2,"\"],"],{"c":"}"}],"d":null}"#, 3),
        (#"["a,b" , "c\\" ,null]"#, 3), (#"{"messages":[]}"#, 0),
    ])
    func `reads an array element by element`(json: String, count: Int) throws {
        var elements = try LegacyElements(Array(json.utf8))
        var found: [JSON] = []
        while let element = try elements.next() { found.append(element) }
        let whole = try JSON(parsing: Array(json.utf8))
        #expect(found.count == count && found == whole.array ?? whole.object?["messages"]?.array)
    }

    @Test(arguments: [
        (LegacyMessageFormat.Dates.since1970, "1800000000.25", 1_800_000_000_250),
        (.millisecondsSince1970, "1800000000250", 1_800_000_000_250),
        (.iso8601, #""2027-01-15T08:00:00Z""#, 1_800_000_000_000),
        (.sinceReferenceDate, "821692800.25", 1_800_000_000_250),
    ])
    func `reads dates as the encoder wrote them`(
        dates: LegacyMessageFormat.Dates, text: String, time: Milliseconds
    ) throws {
        var format = LegacyMessageFormat()
        format.dates = dates
        let json = #"[{"id":"a","text":"b","timestamp":\#(text),"isFromSelf":true,"expiresAt":null}]"#
        var messages = try LegacyMessages(Array(json.utf8), format, LegacyTimes(now: 1_800_000_000_000))
        #expect(try messages.next(9).map(\.sentAt) == [time])
        var early = try LegacyMessages(Array(json.utf8), format, LegacyTimes(now: time - .day - 1))
        #expect(throws: LegacyFileFault.self) { try early.next() }
    }
}

import CloakroomAWS
import Foundation
import Testing

struct TimestampTests {
    @Test(arguments: [
        (0, "19700101T000000Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
        (1_369_353_600, "20130524T000000Z", "Fri, 24 May 2013 00:00:00 GMT"),
        (1_709_251_199, "20240229T235959Z", "Thu, 29 Feb 2024 23:59:59 GMT"),
        (951_782_400, "20000229T000000Z", "Tue, 29 Feb 2000 00:00:00 GMT"),
        (4_107_542_399, "21000228T235959Z", "Sun, 28 Feb 2100 23:59:59 GMT"),
        (253_402_300_799, "99991231T235959Z", "Fri, 31 Dec 9999 23:59:59 GMT"),
    ])
    func `writes and reads every spelling`(seconds: Int, basic: String, http: String) {
        let time = Timestamp(secondsSince1970: seconds)
        #expect(time.basic == basic)
        #expect(time.day == String(basic.prefix(8)))
        #expect(time.http == http)
        #expect(Timestamp(basic: basic) == time)
        #expect(Timestamp(http: http) == time)
    }

    @Test func `agrees with Foundation over four centuries`() {
        let formatter = ISO8601DateFormatter()
        for seconds in stride(from: 0, to: 12_622_780_800, by: 86_399 * 97) {
            let date = Date(timeIntervalSince1970: Double(seconds))
            #expect(Timestamp(iso8601: formatter.string(from: date)) == Timestamp(secondsSince1970: seconds))
            #expect(Timestamp(basic: Timestamp(date).basic)?.date == date)
        }
    }

    @Test(arguments: [
        "2026-11-20T14:00:00Z", "2026-11-20T14:00:00.5Z", "2026-11-20T14:00:00.123456789Z",
        "2026-11-20T14:00:00+00:00",
    ])
    func `reads what AWS and its imitators write`(text: String) {
        #expect(Timestamp(iso8601: text) == Timestamp(secondsSince1970: 1_795_183_200))
    }

    @Test(arguments: [
        "", "2026-11-20", "2026-11-20T14:00:00", "2026-13-20T14:00:00Z", "2026-02-30T14:00:00Z",
        "2026-11-20T24:00:00Z", "2026-11-20T14:00:00.Z", "2026-11-20T14:00:00.123",
        "2026-11-20T14:00:00+01:00", "2026-11-20 14:00:00Z",
        "２026-11-20T14:00:00Z",
    ])
    func `refuses what is no time`(text: String) {
        #expect(Timestamp(iso8601: text) == nil)
    }
}

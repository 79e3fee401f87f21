import Foundation
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct LegacyDateTests {
    @Test(arguments: [1_735_689_600.25, 1_735_689_600_250, 1_735_689_600_250_000, 1.735_689_600_25e18])
    func `a number is in the unit that its size tells`(number: Double) throws {
        let date = try #require(LegacyDate.date(number))
        #expect(abs(date.timeIntervalSince1970 - 1_735_689_600.25) < 0.001)
    }

    @Test(arguments: [
        ("2025-01-01", 1_735_689_600), ("2025-01-01 00:00:00", 1_735_689_600), ("2025-01-01 00:00", 1_735_689_600),
        ("2025-01-01T00:00:00Z", 1_735_689_600), ("2025-01-01 00:00:00.250", 1_735_689_600.25),
        ("2025-01-01T01:30:00.5+01:30", 1_735_689_600.5), ("2024-12-31T16:00:00-0800", 1_735_689_600),
        ("2024-12-31T16:00:00 -08", 1_735_689_600), ("2025-01-01 00:00:00 UTC", 1_735_689_600),
        (" 1735689600 ", 1_735_689_600), ("1735689600000", 1_735_689_600),
    ])
    func `a text is read in the usual spellings`(text: String, seconds: Double) throws {
        let date = try #require(LegacyDate.date(text))
        #expect(abs(date.timeIntervalSince1970 - seconds) < 0.000_1)
    }

    @Test(arguments: [
        "", "yesterday", "2025-13-01", "2025-01-01T", "2025-01-01T00:00:00+", "2025-01-01T00:00:00+99:00", "nan", "-5",
        "2025-01-01T00:00:00.", "2025-01-01T00:00:00 CET", "0", "inf", "25-01-01",
    ])
    func `everything else is no date`(text: String) {
        #expect(LegacyDate.date(text) == nil)
    }
}

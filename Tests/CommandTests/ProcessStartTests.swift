import Foundation
import Testing

@testable import CloakroomCommand

struct ProcessStartTests {
    @Test(arguments: [
        ("7 (cloakroom) S 1 7 7 0 -1 4194304 97 0 0 0 0 0 0 0 20 0 1 0 7658024 3133440 361", 7_658_024),
        ("7 (a) b) (c) S 1 7 7 0 -1 4194304 97 0 0 0 0 0 0 0 20 0 1 0 12 3133440 361", 12),
    ]) func `is read behind the name, whatever that holds`(line: String, ticks: Int) {
        #expect(ProcessStart.ticks(line) == ticks)
    }

    @Test(arguments: ["", "7 (cloakroom", "7 (cloakroom) S 1 7"]) func `nothing is read of a line that is cut off`(
        line: String
    ) { #expect(ProcessStart.ticks(line) == nil) }

    @Test func `is before now, and the same later`() async throws {
        let start = ProcessStart.secondsSince1970
        #expect((0...7200).contains(Int(Date().timeIntervalSince1970) - start))
        try await Task.sleep(for: .milliseconds(1100))
        #expect(abs(ProcessStart.secondsSince1970 - start) <= 1)
    }
}

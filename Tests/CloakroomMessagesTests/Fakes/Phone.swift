import Foundation
import Testing

@testable import CloakroomMessages

/// A device whose wall clock may be wrong: its clocks, and the messages that it receives.
struct Phone {
    static let beginning: Milliseconds = 1_800_000_000_000
    static let hour: Milliseconds = 3_600_000

    var truth = beginning
    var skew: Milliseconds
    var startedAt = beginning
    var boot = 0
    var hearsServer: Bool
    var clock: RetentionClock
    var rebasings: [RetentionClock.Rebasing] = []

    init(skew: Milliseconds = 0, hearsServer: Bool = false) {
        self.skew = skew
        self.hearsServer = hearsServer
        let reading = RetentionClock.Reading(
            wall: Self.beginning + skew, continuous: 0, boot: "0", server: hearsServer ? Self.beginning : nil)
        clock = RetentionClock(at: reading)
    }

    var reading: RetentionClock.Reading {
        RetentionClock.Reading(
            wall: truth + skew, continuous: truth - startedAt, boot: "\(boot)", server: hearsServer ? truth : nil)
    }

    mutating func read() { if let rebasing = clock.advance(to: reading) { rebasings.append(rebasing) } }

    mutating func pass(_ duration: Milliseconds) {
        truth += duration
        read()
    }

    /// The device is off for so long.
    mutating func restart(after duration: Milliseconds) {
        truth += duration
        startedAt = truth
        boot += 1
        read()
    }

    func isHidden(_ base: MessageBase, limit: Milliseconds) -> Bool {
        clock.plausible.isDue(base.time + limit, base: base)
    }

    func isPurged(_ base: MessageBase, limit: Milliseconds) -> Bool {
        clock.trusted.isDue(base.time + limit, base: base)
    }

    /// The device goes on with the record that a former version would have written.
    mutating func readRecord(without members: [String]) throws {
        let clock = clock
        let written = try JSONSerialization.jsonObject(with: JSONEncoder().encode(clock))
        var record = try #require(written as? [String: Any])
        for member in members { #expect(record.removeValue(forKey: member) != nil, "\(member)") }
        self.clock = try JSONDecoder().decode(
            RetentionClock.self, from: JSONSerialization.data(withJSONObject: record))
        #expect(self.clock == clock)
    }
}

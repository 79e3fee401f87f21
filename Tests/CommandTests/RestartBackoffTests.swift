import Testing

@testable import CloakroomCommand

struct RestartBackoffTests {
    @Test func `the first crash restarts at once, the next ones later and later, up to 10 s`() {
        var crashes = RestartBackoff()
        let pauses = (0..<12).map { _ in crashes.pause(afterUptime: .milliseconds(10)) }
        let expected: [Duration] = [0, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000, 10_000, 10_000]
            .map { .milliseconds($0) }
        #expect(pauses == expected)
    }

    /// Sockets are looked at once a second, and whenever workers were replaced.
    @Test func `workers without sockets are replaced at once, then later and later while that does not help`() {
        var repair = SocketRepair()
        var now: UInt64 = 1
        func secondsUntilDue() -> Int {
            for second in 0...60 {
                if repair.isDue(at: now) { return second }
                now += 1_000_000_000
            }
            return 61
        }
        var waits: [Int] = []
        for _ in 0..<11 {
            waits.append(secondsUntilDue())
            repair.ended(at: now)
        }
        #expect(waits == [0, 0, 1, 1, 1, 2, 4, 7, 10, 10, 10])
        // Once they lasted for 10 s, what came before is forgotten.
        now += 10_000_000_000
        #expect(secondsUntilDue() == 0)
    }

    @Test func `after 10 s of work everything before is forgotten`() {
        var crashes = RestartBackoff()
        let pauses = (0..<3).map { _ in crashes.pause(afterUptime: .milliseconds(9_999)) }
        #expect(pauses == [.zero, .milliseconds(200), .milliseconds(400)])
        #expect(crashes.pause(afterUptime: .seconds(10)) == .zero)
        #expect(crashes.pause(afterUptime: .milliseconds(1)) == .zero)
        #expect(crashes.pause(afterUptime: .milliseconds(1)) == .milliseconds(200))
    }
}

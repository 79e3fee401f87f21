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

    @Test func `after 10 s of work everything before is forgotten`() {
        var crashes = RestartBackoff()
        let pauses = (0..<3).map { _ in crashes.pause(afterUptime: .milliseconds(9_999)) }
        #expect(pauses == [.zero, .milliseconds(200), .milliseconds(400)])
        #expect(crashes.pause(afterUptime: .seconds(10)) == .zero)
        #expect(crashes.pause(afterUptime: .milliseconds(1)) == .zero)
        #expect(crashes.pause(afterUptime: .milliseconds(1)) == .milliseconds(200))
    }
}

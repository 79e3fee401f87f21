import CloakroomAWS
import Testing

struct BackoffTests {
    private struct Maximum: RandomNumberGenerator {
        mutating func next() -> UInt64 { .max }
    }

    @Test func `doubles up to its cap`() {
        let backoff = Backoff(base: .milliseconds(50), cap: .seconds(1), maximumAttempts: 8)
        var generator = Maximum()
        let delays = (0..<8).map { backoff.delay(afterAttempt: $0, using: &generator) }
        #expect(
            delays == [
                .milliseconds(50), .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800),
                .seconds(1), .seconds(1), nil,
            ])
    }

    @Test func `stays within its bounds, and does not overflow`() {
        var generator = SeededGenerator(seed: 1)
        let backoff = Backoff(maximumAttempts: 1000)
        for attempt in 0..<999 {
            let delay = backoff.delay(afterAttempt: attempt, using: &generator)
            #expect(delay.map { (.zero ... .seconds(20)).contains($0) } == true)
        }
    }
}

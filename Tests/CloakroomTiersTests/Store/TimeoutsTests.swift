import Foundation
import Testing

@testable import CloakroomTiers

struct TimeoutsTests {
    @Test func `each wait ends at its own time, whichever began first`() async {
        let timeouts = Timeouts()
        let (ends, observer) = AsyncStream.makeStream(of: (number: Int, after: Duration).self)
        let began = ContinuousClock.now
        for milliseconds in [300, 25, 600, 150] {
            _ = timeouts.add(after: .milliseconds(milliseconds)) {
                observer.yield((milliseconds, ContinuousClock.now - began))
            }
        }
        var seen: [Int] = []
        for await end in ends.prefix(4) {
            seen.append(end.number)
            #expect(end.after >= .milliseconds(end.number))
        }
        #expect(seen == [25, 150, 300, 600])
        #expect(timeouts.isEmpty)
    }

    @Test func `a wait that was removed does not end, and the others do`() async {
        let timeouts = Timeouts()
        let (ends, observer) = AsyncStream.makeStream(of: Int.self)
        let removed = timeouts.add(after: .milliseconds(5)) { observer.yield(1) }
        _ = timeouts.add(after: .milliseconds(40)) { observer.yield(2) }
        timeouts.remove(removed)
        #expect(await ends.first { _ in true } == 2)
        // The timer is set anew after the last one.
        _ = timeouts.add(after: .milliseconds(5)) { observer.yield(3) }
        #expect(await ends.first { _ in true } == 3)
    }
}

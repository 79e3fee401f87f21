import CloakroomLoop
import CloakroomSimulationSystem
import Foundation

/// What happened, in order: a digest that two runs of one seed share, and lines for people.
@LoopActor
enum Trace {
    static var isShown = false
    /// FNV-1a (Fowler, Noll and Vo, 1991).
    private(set) static var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    private(set) static var events = 0
    /// How often each state was reached that a run should meet now and then.
    private(set) static var states: [String: Int] = [:]
    /// The most that there were of something at once.
    private(set) static var peaks: [String: Int] = [:]
    private static var last: [String] = []
    private static let kept = 200

    static func note(_ who: String, _ what: String) {
        let line = "\(time()) \(who): \(what)"
        events += 1
        for byte in line.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
        if isShown {
            print(line)
            return
        }
        last.append(line)
        if last.count > 2 * kept { last.removeFirst(kept) }
    }

    static func most(_ what: String, _ count: Int) { peaks[what] = max(peaks[what] ?? 0, count) }

    static func reached(_ state: String) { states[state, default: 0] += 1 }

    /// What came before a finding.
    static var tail: [String] { last.suffix(kept) }

    /// Days since the beginning, and the time of that day, to the millisecond.
    static func time() -> String {
        let milliseconds = (VirtualTime.now - start) / 1_000_000
        let (day, rest) = milliseconds.quotientAndRemainder(dividingBy: 86_400_000)
        let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60)
        func two(_ number: UInt64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "day \(day) \(two(hour)):\(two(minute)):\(two(second)).\(String(rest % 1000 + 1000).dropFirst())"
    }

    static let start = VirtualTime.now
}

/// What must not be.
enum Finding {
    /// Ends the process: what happens after a finding proves nothing.
    static func end(_ text: String) -> Never {
        LoopActor.assumeIsolated {
            if !Trace.isShown { for line in Trace.tail { print(line) } }
            print("finding: \(Trace.time()): \(text)")
        }
        fflush(nil)
        _exit(1)
    }

    static func require(_ condition: Bool, _ text: @autoclosure () -> String) { if !condition { end(text()) } }
}

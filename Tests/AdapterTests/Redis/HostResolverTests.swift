import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Foundation
import Testing

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct HostResolverTests {
    @Test @LoopActor func `a name has one lookup at a time, and one that hangs keeps no other waiting`() async {
        let (asked, hanging) = (Counts(), DispatchSemaphore(value: 0))
        let resolver = HostResolver { host in
            asked.add(host)
            if host == "slow.example" { hanging.wait() }
            return host == "gone.example" ? [] : ["192.0.2.1", "2001:db8::1"]
        }
        let slow = (0..<50).map { _ in LoopActor.spawn { await resolver.literals(of: "slow.example") } }
        #expect(await becomes { asked["slow.example"] == 1 })
        for literal in ["127.0.0.1", "::1", "2001:db8::7"] {
            #expect(await resolver.literals(of: literal) == [literal])
        }
        let addresses = ["192.0.2.1", "2001:db8::1"]
        for number in 0..<20 { #expect(await resolver.literals(of: "fast\(number).example") == addresses) }
        #expect(await resolver.literals(of: "gone.example").isEmpty)
        hanging.signal()
        for task in slow { #expect(await task.value == addresses) }
        #expect(asked["slow.example"] == 1 && asked["127.0.0.1"] == 0)
        hanging.signal()
        // Names may move: what was found is not kept.
        #expect(await resolver.literals(of: "slow.example") == addresses)
        #expect(asked["slow.example"] == 2)
    }
}

/// How often each name was looked up.
private final class Counts: @unchecked Sendable {
    private let lock = NSLock()
    private var counts: [String: Int] = [:]

    func add(_ name: String) { lock.withLock { counts[name, default: 0] += 1 } }

    subscript(name: String) -> Int { lock.withLock { counts[name, default: 0] } }
}

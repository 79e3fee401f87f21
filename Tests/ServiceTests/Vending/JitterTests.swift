import Testing

@testable import CloakroomServer

struct JitterTests {
    @Test func `spreads evenly from 0 to 1`() {
        var counts = [Int](repeating: 0, count: 10)
        for _ in 0..<10_000 { counts[Int(Jitter.next() * 10)] += 1 }
        // Five standard deviations.
        #expect(counts.allSatisfy { (850...1150).contains($0) }, "\(counts)")
    }
}

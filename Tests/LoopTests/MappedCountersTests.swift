import CloakroomLoop
import Testing

struct MappedCountersTests {
    @Test func `an earlier version that knows fewer of them leaves the others as they are`() throws {
        let (all, memory) = try MappedCounters.shared(count: 9)
        all.add(7, at: 8)
        let first = try memory.withDescriptor { try MappedCounters(descriptor: $0, count: 6) }
        first.add(1, at: 0)
        #expect(all[0] == 1 && all[8] == 7)
    }
}

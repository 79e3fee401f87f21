import Testing

@testable import CloakroomRedis

struct RequestSlotsTests {
    @Test func `each part of a request has the slot of its own key`() {
        let commands = ["a", "b", "c"].map { RedisCommand(["GET", $0], near: $0) }
        let slots = RequestSlots(commands)
        #expect(Set(commands.map(\.slot)).count == 3)
        #expect((0..<3).map { slots[$0] } == commands.map(\.slot))
        #expect(RequestSlots([commands[0]])[1] == nil && RequestSlots([commands[0]])[2] == nil)
    }

    /// The check value of CRC-16 (XMODEM), as Redis Cluster's specification has it.
    @Test func `a slot is the key's CRC-16, or that of what its first braces hold`() {
        func slot(_ key: String) -> Int { HashSlot(of: Array(key.utf8)).number }
        #expect(slot("123456789") == 0x31C3 % 16_384)
        #expect(slot("a{123456789}b{c}") == slot("123456789"))
        #expect(slot("a{}{123456789}") != slot("123456789"))
    }
}

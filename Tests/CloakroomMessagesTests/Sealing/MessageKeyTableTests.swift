import CloakroomCrypto
import Testing

@testable import CloakroomMessages

@Suite struct MessageKeyTableTests {
    private let master = SealingKey.random()
    private let ids = [
        MessageKeyID(conversation: 1, slot: DeadlineSlot(rawValue: 1_790_000_100)),
        MessageKeyID(conversation: 1, slot: .endless),
        MessageKeyID(conversation: -7, slot: DeadlineSlot(rawValue: .min)),
    ]

    private func table() -> MessageKeyTable {
        var table = MessageKeyTable()
        for id in ids { table[id] = .random() }
        return table
    }

    @Test(arguments: [true, false], [[:], [1: 2], [Int64.min: .max, 7: 0]])
    func `reads what it wrote, and nothing of it in the clear`(isStale: Bool, deletions: [Int64: Int64]) throws {
        var table = table()
        table.isStale = isStale
        table.deletions = deletions
        let file = table.sealed(under: master)
        let read = try #require(MessageKeyTable(file, under: master))
        #expect(Set(read.ids) == Set(ids) && read.isStale == isStale && read.deletions == deletions)
        for id in ids {
            let bytes = try #require(read[id]).reveal()
            #expect(bytes == table[id]?.reveal())
            #expect(!file.indices.contains { file[$0...].starts(with: bytes.prefix(8)) })
        }
        #expect(file.count == table.byteCount)
    }

    @Test func `an empty table is one, too`() throws {
        let read = try #require(MessageKeyTable(MessageKeyTable().sealed(under: master), under: master))
        #expect(read.ids.isEmpty)
    }

    @Test func `notices each bit that was changed, each cut and each byte more`() {
        let file = table().sealed(under: master)
        for place in file.indices {
            for bit in 0..<8 {
                var changed = file
                changed[place] ^= 1 << bit
                #expect(MessageKeyTable(changed, under: master) == nil)
            }
            #expect(MessageKeyTable(Array(file.prefix(place)), under: master) == nil)
        }
        #expect(MessageKeyTable(file + [0], under: master) == nil)
        #expect(MessageKeyTable(file, under: .random()) == nil)
        #expect(MessageKeyTable(file, under: master) != nil)
    }

    /// Bytes that the right key sealed, as another version of this library might.
    private static let otherForms: [[UInt8]] = [
        [], [2], [4], [2, 0, 0, 0, 0], [2, 0, 0, 0, 1] + zeros(15), [2, 0, 0, 0, 2] + zeros(32),
        [2, 255, 255, 255, 255] + zeros(16), [0, 1], [0] + zeros(12), [0] + zeros(8) + [0, 0, 0, 1],
        [0] + zeros(8) + [255, 255, 255, 255] + zeros(40),
        [0] + zeros(8) + [0, 0, 0, 1] + zeros(39),
        // A slot twice, and a conversation twice.
        [0] + zeros(8) + [0, 0, 0, 2] + zeros(80),
        [0] + zeros(8) + [0, 0, 0, 1] + zeros(40) + zeros(8) + [0, 0, 0, 1] + zeros(40),
    ]

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    @Test(arguments: otherForms)
    func `refuses what is sealed well and has another form`(content: [UInt8]) {
        let file = [1] + master.seal(content, context: Array("Cloakroom message keys 1".utf8))
        #expect(MessageKeyTable(file, under: master) == nil)
    }

    @Test func `1,000 conversations with all slots of a policy fit into a mebibyte`() {
        var table = MessageKeyTable()
        for conversation in 0..<1000 {
            for second in stride(from: Int64(0), through: 604_800, by: 37_800) {
                let slot = DeadlineSlot(of: (1_790_000_000 + second) * 1000, policy: .oneWeek)
                table[MessageKeyID(conversation: Int64(conversation), slot: slot)] = .random()
            }
            table[MessageKeyID(conversation: Int64(conversation), slot: .endless)] = .random()
        }
        #expect(table.ids.count == 18_000)
        #expect(table.sealed(under: master).count == 732_030)
    }
}

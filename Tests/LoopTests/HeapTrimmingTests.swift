import CloakroomLoop
import Glibc
import Testing

struct HeapTrimmingTests {
    private static let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    private static let large = 64 << 10

    /// Every other block is freed, so that the heap's end stays where it is. Other tests may take some of them meanwhile.
    @Test func `gives back what lies free between objects`() {
        let blocks = (0..<1000).map { _ in
            UnsafeMutableRawPointer.allocate(byteCount: Self.large, alignment: 16)
        }
        for block in blocks { block.initializeMemory(as: UInt8.self, repeating: 1, count: Self.large) }
        let (freed, kept) = (blocks.indices.filter { $0 % 2 == 0 }, blocks.indices.filter { $0 % 2 == 1 })
        defer { for index in kept { blocks[index].deallocate() } }
        for index in freed { blocks[index].deallocate() }
        let before = freed.reduce(0) { $0 + residentPages(at: blocks[$1]) }
        #expect(HeapTrimming.freeBytes >= before * Self.page / 2)
        HeapTrimming.trim()
        let after = freed.reduce(0) { $0 + residentPages(at: blocks[$1]) }
        #expect(before >= 5000 && after <= before / 2)
    }

    /// Of the whole pages in a block.
    private func residentPages(at block: UnsafeMutableRawPointer) -> Int {
        let start = block.alignedUp(toMultipleOf: Self.page)
        var pages = [UInt8](repeating: 0, count: Self.large / Self.page - 1)
        guard mincore(start, pages.count * Self.page, &pages) == 0 else { return 0 }
        return pages.count { $0 & 1 == 1 }
    }
}

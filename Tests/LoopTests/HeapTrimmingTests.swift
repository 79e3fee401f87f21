import CloakroomLoop
import Glibc
import Testing

struct HeapTrimmingTests {
    private static let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    private static let large = 64 << 10

    /// Small ones between large ones, so that the heap's end stays where it is. Other tests may take some of them meanwhile.
    @Test func `gives back what lies free between objects`() {
        let blocks = (0..<1000).map { _ in
            (
                large: UnsafeMutableRawPointer.allocate(byteCount: Self.large, alignment: 16),
                small: UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 16)
            )
        }
        defer { for block in blocks { block.small.deallocate() } }
        for block in blocks { block.large.initializeMemory(as: UInt8.self, repeating: 1, count: Self.large) }
        for block in blocks { block.large.deallocate() }
        let before = blocks.reduce(0) { $0 + residentPages(at: $1.large) }
        #expect(HeapTrimming.freeBytes >= before * Self.page / 2)
        HeapTrimming.trim()
        let after = blocks.reduce(0) { $0 + residentPages(at: $1.large) }
        #expect(before >= 10_000 && after <= before / 2)
    }

    /// Of the whole pages in a block.
    private func residentPages(at block: UnsafeMutableRawPointer) -> Int {
        let start = block.alignedUp(toMultipleOf: Self.page)
        var pages = [UInt8](repeating: 0, count: Self.large / Self.page - 1)
        guard mincore(start, pages.count * Self.page, &pages) == 0 else { return 0 }
        return pages.count { $0 & 1 == 1 }
    }
}

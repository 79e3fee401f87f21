import CloakroomLoop
import Foundation
import Testing

struct HeapTrimmingTests {
    /// Small ones between large ones, so that the heap's end stays where it is.
    @Test func `gives back what lies free between objects`() throws {
        let (count, large) = (1000, 64 << 10)
        let blocks = (0..<count).map { _ in
            (
                large: UnsafeMutableRawPointer.allocate(byteCount: large, alignment: 16),
                small: UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 16)
            )
        }
        defer { for block in blocks { block.small.deallocate() } }
        for block in blocks { block.large.initializeMemory(as: UInt8.self, repeating: 1, count: large) }
        for block in blocks { block.large.deallocate() }
        #expect(HeapTrimming.freeBytes >= count * large / 2)
        let before = try residentBytes()
        HeapTrimming.trim()
        #expect(before - (try residentBytes()) >= count * large / 2)
    }

    private func residentBytes() throws -> Int {
        let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return try #require(Int(pages[1])) * sysconf(Int32(_SC_PAGESIZE))
    }
}

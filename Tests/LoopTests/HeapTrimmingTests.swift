import CloakroomLoop
import Foundation
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
        #expect(HeapTrimming.use.slack >= before * Self.page / 2)
        HeapTrimming.trim()
        let after = freed.reduce(0) { $0 + residentPages(at: blocks[$1]) }
        #expect(before >= 5000 && after <= before / 2)
    }

    private static func use(_ used: Int, _ resident: Int) -> HeapUse {
        HeapUse(used: used << 20, resident: resident << 20)
    }

    @Test func `trims when a peak has been over for a period, and once`() {
        var rule = HeapTrimmingRule(idle: Self.use(4, 8))
        // In flight, just over, over for a period.
        let trims = [Self.use(91, 98), Self.use(6, 98), Self.use(5, 98)].map { rule.trims($0) }
        #expect(trims == [false, false, true])
        rule.trimmed(Self.use(5, 30))
        #expect([30, 32, 33, 30].allSatisfy { !rule.trims(Self.use(5, $0)) })
        #expect([40, 40].map { rule.trims(Self.use(5, $0)) } == [false, true])
    }

    @Test func `trims again when what kept pages goes`() {
        var rule = HeapTrimmingRule(idle: Self.use(4, 8))
        rule.trimmed(Self.use(90, 110))
        #expect([Self.use(60, 110), Self.use(5, 110)].map { rule.trims($0) } == [false, true])
        // A thousand clients are gone, their connections to STS a little later.
        rule = HeapTrimmingRule(idle: Self.use(1, 4))
        rule.trimmed(Self.use(13, 24))
        #expect([Self.use(5, 23), Self.use(5, 23)].map { rule.trims($0) } == [false, true])
    }

    @Test func `leaves to a busy worker half of what it has in objects`() {
        var rule = HeapTrimmingRule(idle: Self.use(4, 8))
        #expect([123, 123, 124, 124].map { rule.trims(Self.use(80, $0)) } == [false, false, false, true])
    }

    @Test func `releases what can be worked out again where little keeps many pages`() {
        var rule = HeapTrimmingRule(idle: Self.use(4, 8))
        // Of requests in flight, of a usual day, of a peak that is over.
        let releases = [Self.use(90, 120), Self.use(5, 14), Self.use(5, 15)].map { rule.releases($0) }
        #expect(releases == [false, false, true])
        rule.released(Self.use(4, 20))
        rule.trimmed(Self.use(4, 20))
        // The next peak, and what it has left ten minutes later.
        let trims = [110, 110].map { rule.trims(Self.use(9, $0)) }
        #expect(trims == [false, true] && !rule.releases(Self.use(9, 110)))
        rule.trimmed(Self.use(9, 110))
        let later = (0..<118).map { _ in rule.trims(Self.use(9, 110)) }
        #expect(later.firstIndex(of: true) == 117)
        let isReleased = rule.releases(Self.use(9, 110))
        #expect(isReleased)
        rule.released(Self.use(4, 20))
        for _ in 0..<120 { _ = rule.trims(Self.use(4, 20)) }
        // What no release has given back.
        #expect([20, 25, 26].map { rule.releases(Self.use(4, $0)) } == [false, false, true])
    }

    @Test func `the first look after a trim that finds a peak says so, and no other`() {
        var rule = HeapTrimmingRule(idle: Self.use(4, 8))
        var peaks = [rule.grows(Self.use(90, 98))]
        for used in [5, 8] {
            rule.trimmed(Self.use(used, 30))
            peaks += [used, used + 7, used + 8, 90].map { rule.grows(Self.use($0, 98)) }
        }
        #expect(peaks == [false, false, false, true, false, false, false, true, false])
    }

    /// Flags of proc(5), smaps: `nh` for the advice, which says no huge pages.
    @Test func `where few pages are left there are no huge pages, and where many or none are, as before`() throws {
        let unit = 2 << 20
        let size = 5 * unit
        // Shared, so that Linux itself puts no huge page together meanwhile.
        let area = try #require(mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED | Int32(MAP_ANONYMOUS), -1, 0))
        defer { munmap(area, size) }
        try #require(area != MAP_FAILED)
        // With small pages: one byte is not to bring a whole huge page.
        madvise(area, size, MADV_NOHUGEPAGE)
        let first = area.alignedUp(toMultipleOf: unit)
        first.storeBytes(of: 1, as: UInt8.self)
        for page in 0..<300 { (first + unit + page * Self.page).storeBytes(of: 1, as: UInt8.self) }
        madvise(first, 3 * unit, MADV_HUGEPAGE)
        HugePages.leaveSparse(in: UInt(bitPattern: area)..<UInt(bitPattern: area) + UInt(size))
        let haveNone = try (0..<3).map { try flags(at: first + $0 * unit).contains("nh") }
        #expect(haveNone == [true, false, false])
    }

    private func flags(at address: UnsafeMutableRawPointer) throws -> [Substring] {
        let address = UInt(bitPattern: address)
        var isThere = false
        let maps = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/smaps")).readToEnd() ?? Data()
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
            let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
            if bounds.count == 2 { isThere = (bounds[0]..<bounds[1]).contains(address) }
            if isThere, line.hasPrefix("VmFlags:") { return line.split(separator: " ") }
        }
        return []
    }

    /// Of the whole pages in a block.
    private func residentPages(at block: UnsafeMutableRawPointer) -> Int {
        let start = block.alignedUp(toMultipleOf: Self.page)
        var pages = [UInt8](repeating: 0, count: Self.large / Self.page - 1)
        guard mincore(start, pages.count * Self.page, &pages) == 0 else { return 0 }
        return pages.count { $0 & 1 == 1 }
    }
}

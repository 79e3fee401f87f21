import CloakroomCLinux

/// The heap's huge pages, where glibc requests them (`GLIBC_TUNABLES=glibc.malloc.hugetlb=1`).
///
/// Linux puts one together wherever a single small page is left, and so takes again what a trim has given back. After a
/// trim those ranges have small pages, and at the next peak huge ones again; ranges without any page keep theirs.
///
/// Source: Linux, "Transparent Hugepage Support" (khugepaged, `max_ptes_none`); madvise(2), mincore(2).
package enum HugePages {
    /// Whether they are requested. Without, nothing is changed.
    private static let areRequested =
        unsafe getenv("GLIBC_TUNABLES").map { unsafe String(cString: $0) }?
        .contains("glibc.malloc.hugetlb=1") ?? false

    /// Less than half of whose pages are there.
    static func leaveSparse() {
        guard areRequested, let heap else { return }
        leaveSparse(in: heap)
    }

    /// - Parameter range: of addresses.
    package static func leaveSparse(in range: Range<UInt>) {
        cloakroom_advise_sparse(range.lowerBound, range.upperBound, MADV_NOHUGEPAGE)
    }

    static func allow() {
        guard areRequested, let heap else { return }
        cloakroom_advise(heap.lowerBound, heap.upperBound, MADV_HUGEPAGE)
    }

    private static var heap: Range<UInt>? {
        var (low, high) = (UInt(0), UInt(0))
        return unsafe cloakroom_heap_range(&low, &high) == 1 ? low..<high : nil
    }
}

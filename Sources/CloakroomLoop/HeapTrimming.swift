import CloakroomCLinux

/// Gives memory back to the system that was needed for a peak; glibc by itself keeps most of it for good.
///
/// Source: mallinfo2(3), malloc_trim(3).
package enum HeapTrimming {
    private static let period: Duration = .seconds(5)
    /// Less is left to the next requests.
    private static let threshold = 8 << 20

    /// Looks at the heap regularly from now on.
    @LoopActor package static func start() { schedule(freeBefore: 0) }

    /// - Parameter freeBefore: a period ago. What a busy worker frees and needs again within one is left alone.
    @LoopActor private static func schedule(freeBefore: Int) {
        EventPoller.shared.schedule(after: period) {
            let free = freeBytes
            if min(free, freeBefore) >= threshold { trim() }
            schedule(freeBefore: free)
        }
    }

    /// Of all that is allocated from the system, what no object is in.
    package static var freeBytes: Int { cloakroom_free_heap_bytes() }

    /// Whole pages of it, wherever they lie; some milliseconds for a hundred megabytes.
    package static func trim() { cloakroom_trim_heap() }
}

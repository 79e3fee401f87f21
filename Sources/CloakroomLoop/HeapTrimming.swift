import CloakroomCLinux

/// Gives memory back to the system that was needed for a peak; glibc by itself keeps most of it for good.
///
/// Source: mallinfo2(3), malloc_trim(3), proc(5).
package enum HeapTrimming {
    private static let period: Duration = .seconds(5)

    /// Looks at the heap regularly from now on.
    ///
    /// - Parameter release: frees what can be worked out again, such as caches.
    @LoopActor package static func start(releasing release: @escaping @LoopActor () -> Void) {
        schedule(HeapTrimmingRule(idle: use), release)
    }

    @LoopActor private static func schedule(_ rule: HeapTrimmingRule, _ release: @escaping @LoopActor () -> Void) {
        EventPoller.shared.schedule(after: period) {
            var rule = rule
            if rule.grows(use) { HugePages.allow() }
            if rule.trims(use) {
                trim()
                if rule.releases(use) {
                    release()
                    trim()
                    rule.released(use)
                }
                HugePages.leaveSparse()
                rule.trimmed(use)
            }
            schedule(rule, release)
        }
    }

    package static var use: HeapUse {
        HeapUse(used: cloakroom_used_heap_bytes(), resident: cloakroom_anonymous_bytes())
    }

    /// All pages of the process that are in memory, in bytes.
    package static var residentBytes: Int { cloakroom_resident_bytes() }

    /// Whole pages that no object is in, wherever they lie; some milliseconds for a hundred megabytes.
    package static func trim() { cloakroom_trim_heap() }
}

/// What a process has in memory, in bytes.
package struct HeapUse {
    /// In objects.
    package var used: Int
    /// Pages of memory that no file has, the heap's among them.
    package var resident: Int

    package init(used: Int, resident: Int) {
        self.used = used
        self.resident = resident
    }

    /// Resident without an object: what a trim may give back, the rest of pages with few objects, and little else.
    package var slack: Int { resident - used }
}

/// When memory is given back.
package struct HeapTrimmingRule {
    /// Less is left to the next requests, and so is half of what is in objects: a busy worker soon needs it again.
    private static func threshold(_ used: Int) -> Int { max(leastThreshold, used / 2) }
    private static let leastThreshold = 4 << 20
    /// In objects, more than after a trim.
    private static let peak = 8 << 20
    /// What a thousand clients leave around the tokens and requests that are remembered of them is more.
    private static let releaseThreshold = 6 << 20

    private var slackBefore: Int
    private var slackAfterTrim: Int
    private var slackAfterRelease: Int
    /// In objects after a trim, until the next peak.
    private var usedAfterTrim: Int?
    /// Ten minutes: what is worked out again after each of many peaks takes more time than memory is worth.
    private static let looksBetweenReleases = 120
    private var looksUntilRelease = 0
    /// Whether one was held back.
    private var isReleaseDue = false

    /// - Parameter idle: before the first request.
    package init(idle: HeapUse) {
        slackBefore = idle.slack
        slackAfterTrim = idle.slack
        slackAfterRelease = idle.slack
    }

    /// What a busy worker frees and needs again within a period is left alone, and so is what a trim could not give back.
    package mutating func trims(_ use: HeapUse) -> Bool {
        looksUntilRelease = max(0, looksUntilRelease - 1)
        defer { slackBefore = use.slack }
        if isReleaseDue, looksUntilRelease == 0 {
            isReleaseDue = false
            return true
        }
        return min(use.slack, slackBefore) >= slackAfterTrim + Self.threshold(use.used)
    }

    /// Whether, after a trim, most of what is resident lies around objects that are left of a peak: one on a page keeps it.
    package mutating func releases(_ use: HeapUse) -> Bool {
        let isWorthwhile = use.slack > use.used && use.slack >= slackAfterRelease + Self.releaseThreshold
        isReleaseDue = isWorthwhile && looksUntilRelease > 0
        return isWorthwhile && looksUntilRelease == 0
    }

    /// Whether the first look finds a peak after a trim: it needs the pages that were given back.
    package mutating func grows(_ use: HeapUse) -> Bool {
        guard let usedAfterTrim, use.used >= usedAfterTrim + Self.peak else { return false }
        self.usedAfterTrim = nil
        return true
    }

    package mutating func released(_ use: HeapUse) {
        slackAfterRelease = use.slack
        looksUntilRelease = Self.looksBetweenReleases
    }

    package mutating func trimmed(_ use: HeapUse) {
        usedAfterTrim = use.used
        slackBefore = use.slack
        slackAfterTrim = use.slack
    }
}

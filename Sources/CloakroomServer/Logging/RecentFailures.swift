#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Which warnings and errors the log has had, how often, and when last: the messages, which are constants, and of requests
/// the reason. Whose request it was is not among it.
struct RecentFailures {
    struct Entry {
        let level: Settings.Log.Level
        let message: StaticString
        let reason: String?
        var count: Int
        var last: Date
    }

    static let maximumEntries = 16
    private(set) var entries: [Entry] = []

    private static let maximumReasonLength = 64

    mutating func note(_ level: Settings.Log.Level, _ message: StaticString, reason: String?, at time: Date) {
        // Some are the word of a store.
        let reason = reason.map { $0.utf8.count <= Self.maximumReasonLength ? $0 : String($0.prefix(16)) }
        if let index = entries.firstIndex(where: { $0.message.utf8Start == message.utf8Start && $0.reason == reason }) {
            entries[index].count += 1
            entries[index].last = time
            return
        }
        // The one that is over for the longest time makes room.
        if entries.count == Self.maximumEntries,
            let index = entries.indices.min(by: { entries[$0].last < entries[$1].last })
        {
            entries.remove(at: index)
        }
        entries.append(Entry(level: level, message: message, reason: reason, count: 1, last: time))
    }
}

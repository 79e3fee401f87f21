/// The keys of a server with their values, and which of them have changed: a master tells its replicas.
struct RedisKeyspace {
    enum Value: Equatable {
        case text([UInt8])
        case hash([[UInt8]: [UInt8]])
    }

    struct Entry: Equatable {
        var value: Value
        /// The last of the milliseconds since 1970 in which it is there.
        var end: UInt64?
    }

    /// What a key has from now on; `nil` for a key that is gone.
    typealias Change = (key: [UInt8], entry: Entry?)

    private var entries: [[UInt8]: Entry] = [:]
    private var changed: Set<[UInt8]> = []

    subscript(key: [UInt8]) -> Entry? {
        get { entries[key] }
        set {
            entries[key] = newValue
            changed.insert(key)
        }
    }

    var keys: [[UInt8]] { Array(entries.keys) }
    var ends: [UInt64] { entries.values.compactMap(\.end) }

    mutating func removeValue(forKey key: [UInt8]) -> Entry? {
        changed.insert(key)
        return entries.removeValue(forKey: key)
    }

    mutating func removeAll() {
        entries = [:]
        changed = []
    }

    mutating func takeChanges() -> [Change] {
        guard !changed.isEmpty else { return [] }
        defer { changed = [] }
        return changed.map { ($0, entries[$0]) }
    }

    mutating func apply(_ changes: [Change]) { for change in changes { entries[change.key] = change.entry } }

    /// Whether all that another has that has not expired is here as well.
    func holds(_ other: RedisKeyspace, at milliseconds: UInt64) -> Bool {
        other.entries.allSatisfy { key, entry in
            entry.end.map { $0 < milliseconds } ?? false || entries[key] == entry
        }
    }
}

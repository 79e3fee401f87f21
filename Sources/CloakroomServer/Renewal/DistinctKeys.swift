/// The keys of a request, each once; two are the same when their bytes are.
struct DistinctKeys {
    private(set) var keys: [String] = []
    /// Of each key of the request its position in ``keys``.
    private(set) var positions: [Int] = []

    init(_ all: [String]) {
        keys.reserveCapacity(all.count)
        positions.reserveCapacity(all.count)
        var texts: [String: Int] = [:]
        texts.reserveCapacity(all.count)
        // Swift's strings are equal when they look the same: beyond ASCII that is not the same object.
        var others: [[UInt8]: Int] = [:]
        for key in all {
            let position =
                key.utf8.allSatisfy { $0 < 0x80 }
                ? texts.position(of: key, next: keys.count) : others.position(of: Array(key.utf8), next: keys.count)
            if position == keys.count { keys.append(key) }
            positions.append(position)
        }
    }
}

extension Dictionary where Value == Int {
    fileprivate mutating func position(of key: Key, next: Int) -> Int {
        let position = self[key, default: next]
        self[key] = position
        return position
    }
}

/// The keys of a request, each once; two are the same when their bytes are.
struct DistinctKeys {
    private(set) var keys: [String] = []
    /// Of each key of the request its place in ``keys``.
    private(set) var places: [Int] = []

    init(_ all: [String]) {
        keys.reserveCapacity(all.count)
        places.reserveCapacity(all.count)
        var texts: [String: Int] = [:]
        texts.reserveCapacity(all.count)
        // Swift's strings are equal when they look the same: beyond ASCII that is not the same object.
        var others: [[UInt8]: Int] = [:]
        for key in all {
            let place =
                key.utf8.allSatisfy { $0 < 0x80 }
                ? texts.place(of: key, next: keys.count) : others.place(of: Array(key.utf8), next: keys.count)
            if place == keys.count { keys.append(key) }
            places.append(place)
        }
    }
}

extension Dictionary where Value == Int {
    fileprivate mutating func place(of key: Key, next: Int) -> Int {
        let place = self[key, default: next]
        self[key] = place
        return place
    }
}

/// A bounded table that keeps what is in use, without ever searching for what to drop.
///
/// Two generations of half the capacity: when the young one is full it becomes the old one, and the old one goes. What is
/// looked up moves back to the young one.
struct GenerationalCache<Key: Hashable, Value> {
    private let generationSize: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    /// - Parameter capacity: one of each generation is kept in any case.
    init(capacity: Int) { generationSize = max(1, capacity / 2) }

    /// A value that was replaced counts until its generation goes.
    var count: Int { young.count + old.count }

    /// What is held, without counting as use.
    func peek(_ key: Key) -> Value? { young[key] ?? old[key] }

    /// What is held and good; what is not stays where it is.
    mutating func value(for key: Key, where isGood: (Value) -> Bool = { _ in true }) -> Value? {
        if let value = young[key] { return isGood(value) ? value : nil }
        guard let value = old[key], isGood(value) else { return nil }
        old[key] = nil
        insert(value, for: key)
        return value
    }

    mutating func insert(_ value: Value, for key: Key) {
        if young.count >= generationSize, young[key] == nil {
            // The table stays: growing a new one takes as long as checking a signature.
            swap(&old, &young)
            young.removeAll(keepingCapacity: true)
        }
        young[key] = value
    }

    /// The tables too.
    mutating func removeAll() {
        young = [:]
        old = [:]
    }

    mutating func remove(_ key: Key) {
        young[key] = nil
        old[key] = nil
    }
}

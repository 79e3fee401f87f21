import CloakroomWire

/// The keys of a run, and which of them go out together.
///
/// One key that S3 fails on can make the server respond with an error for its whole batch, each time. So keys of batches that
/// failed go last, and in the smaller batches the more often that happened; whatever succeeds makes the next one twice as
/// large, so that after an outage the batches are soon whole again.
struct RenewalQueue {
    private struct Level {
        var keys: ArraySlice<AssetKey>
        /// Of the next batch.
        var size: Int
    }

    private let maximumSize: Int
    /// The one in use is the first, perhaps with no key left.
    private var levels: [Level] = []

    /// - Parameter keys: each once, in the order in which they are to go out, with how often their batch failed in a row.
    init(_ keys: [(key: AssetKey, failures: Int)], batchSize: Int) {
        maximumSize = min(max(batchSize, 1), WireLimits.maximumKeysPerRequest)
        for (failures, keys) in Dictionary(grouping: keys, by: \.failures).sorted(by: { $0.key < $1.key }) {
            // A first failure may come from any key: 100, 100, 25, 6, 1.
            let size = max(maximumSize >> (2 * min(max(failures - 1, 0), 16)), 1)
            levels.append(Level(keys: keys.map(\.key)[...], size: size))
        }
    }

    var count: Int { levels.reduce(0) { $0 + $1.keys.count } }

    /// How many requests are needed if nothing fails.
    var batchCount: Int {
        var rest = self
        var batches = 0
        while rest.next() != nil {
            rest.grow()
            batches += 1
        }
        return batches
    }

    mutating func next() -> [AssetKey]? {
        while levels.first?.keys.isEmpty == true { levels.removeFirst() }
        guard let level = levels.first else { return nil }
        levels[0].keys = level.keys.dropFirst(level.size)
        return Array(level.keys.prefix(level.size))
    }

    /// The last batch did not fail.
    mutating func grow() {
        guard let level = levels.first else { return }
        levels[0].size = min(2 * level.size, maximumSize)
    }
}

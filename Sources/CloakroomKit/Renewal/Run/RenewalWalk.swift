import CloakroomCrypto
import Foundation

/// One run through all assets: what is due and not sent yet, and of the rest no more than a digest of each key.
///
/// Belongs to the actor whose run it is.
final class RenewalWalk {
    let isForced: Bool
    /// These were renewed by the run before it.
    let done: Set<KeyDigest>
    /// Of the keys that are due: what the next requests are for.
    var pending: RenewalPlan
    var report = RenewalReport()
    /// 16 bytes for each key: it is renewed once, however many assets show it.
    var seen: Set<KeyDigest> = []
    var renewed: Set<KeyDigest> = []
    /// When S3 said of these that there is no such object.
    var missing: [KeyDigest: Date] = [:]
    var consecutiveFailures = 0
    /// Of the windows that were sent.
    var keysDone = 0
    /// When the first batch came.
    var start: Date?
    private let baseURLs: AssetBaseURLs

    /// So many keys that are due are sent together, the longest overdue first.
    static let windowSize = 1000

    init(isForced: Bool, without done: Set<KeyDigest>, in baseURLs: AssetBaseURLs) {
        self.isForced = isForced
        self.done = done
        self.baseURLs = baseURLs
        pending = RenewalPlan(in: baseURLs)
    }

    /// Notes a batch of assets.
    ///
    /// - Returns: those whose keys are new, by their keys, and those whose keys were sent before.
    func sort(_ batch: [RenewableAsset]) -> (new: [AssetKey: [RenewableAsset]], late: [(AssetKey, RenewableAsset)]) {
        var new: [AssetKey: [RenewableAsset]] = [:]
        var late: [(AssetKey, RenewableAsset)] = []
        report.assets += batch.count
        for asset in batch {
            switch baseURLs.match(of: asset.url) {
            case .outsideBaseURLs: report.assetsOutsideBaseURLs += 1
            case .noKey: report.assetsWithoutKey += 1
            case .key(let key):
                if pending.assetsByKey[key] != nil {
                    pending.add(asset, key)
                } else if new[key] != nil || seen.insert(KeyDigest(key)).inserted {
                    new[key, default: []].append(asset)
                } else {
                    late.append((key, asset))
                }
            }
        }
        return (new, late)
    }
}

/// A key's digest: two keys never have the same.
struct KeyDigest: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    init(_ key: AssetKey) {
        let bytes = SHA256.hash(Array(key.text.utf8))
        high = bytes[0..<8].reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes[8..<16].reduce(0) { $0 << 8 | UInt64($1) }
    }
}

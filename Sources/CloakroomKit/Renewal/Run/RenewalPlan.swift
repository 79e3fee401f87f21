import Foundation

/// What a run has before it: the assets by their keys, and what is known of those.
struct RenewalPlan {
    /// Two assets of one key are renewed once.
    private(set) var assetsByKey: [AssetKey: [RenewableAsset]] = [:]
    var records: [AssetKey: RenewalRecord]
    private(set) var assetsOutsideBaseURLs = 0
    private(set) var assetsWithoutKey = 0

    init(_ assets: [RenewableAsset], in baseURLs: AssetBaseURLs, records: [AssetKey: RenewalRecord]) {
        self.records = records
        assetsByKey.reserveCapacity(assets.count)
        for asset in assets {
            switch baseURLs.match(of: asset.url) {
            case .key(let key): assetsByKey[key, default: []].append(asset)
            case .outsideBaseURLs: assetsOutsideBaseURLs += 1
            case .noKey: assetsWithoutKey += 1
            }
        }
    }

    /// What is to be sent, the longest overdue first.
    func queue(
        by settings: AssetRenewalSettings, now: Date, isForced: Bool, without done: Set<AssetKey>
    ) -> RenewalQueue {
        let due = assetsByKey.keys.compactMap { key -> (key: AssetKey, due: Date)? in
            let due = settings.dueDate(of: records[key], now: now)
            return (isForced || due <= now) && !done.contains(key) ? (key, due) : nil
        }
        let sorted = due.sorted { ($0.due, $0.key) < ($1.due, $1.key) }
        return RenewalQueue(
            sorted.map { item in
                let failure = records[item.key]?.failure
                return (item.key, failure?.kind == .batchFailed ? failure?.count ?? 0 : 0)
            },
            batchSize: settings.batchSize)
    }

    /// Records of what no asset shows any more, and that had no response for long.
    func forgotten(now: Date) -> [AssetKey] {
        let limit = now - 90 * 86_400
        return records.values.filter { $0.lastHeard < limit }.map { AssetKey($0.key) }
            .filter { assetsByKey[$0] == nil }
    }

    func schedule(by settings: AssetRenewalSettings, now: Date) -> [AssetSchedule] {
        assetsByKey.keys.sorted().map { key in
            let record = records[key]
            return AssetSchedule(
                key: key.text, assets: assetsByKey[key] ?? [], lastRenewed: record?.lastRenewed,
                due: max(settings.dueDate(of: record, now: now), now), expiration: record?.expiration,
                failure: record?.failure)
        }
    }
}

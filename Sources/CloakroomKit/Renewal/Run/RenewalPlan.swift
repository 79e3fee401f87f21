import Foundation

/// Assets by their keys, and what is known of those.
struct RenewalPlan {
    /// Two assets of one key are renewed once.
    private(set) var assetsByKey: [AssetKey: [RenewableAsset]] = [:]
    var records: [AssetKey: RenewalRecord]

    init(_ assets: [RenewableAsset] = [], in baseURLs: AssetBaseURLs, records: [AssetKey: RenewalRecord] = [:]) {
        self.records = records
        assetsByKey.reserveCapacity(assets.count)
        for asset in assets {
            if case .key(let key) = baseURLs.match(of: asset.url) { add(asset, key) }
        }
    }

    mutating func add(_ asset: RenewableAsset, _ key: AssetKey) { assetsByKey[key, default: []].append(asset) }

    mutating func remove(_ key: AssetKey) { assetsByKey[key] = nil }

    /// What is to be sent, the longest overdue first.
    func queue(by settings: AssetRenewalSettings, now: Date) -> RenewalQueue {
        let due = assetsByKey.keys.map { key in (key: key, due: settings.dueDate(of: records[key], now: now)) }
        let sorted = due.sorted { ($0.due, $0.key) < ($1.due, $1.key) }
        return RenewalQueue(
            sorted.map { item in
                let failure = records[item.key]?.failure
                return (item.key, failure?.kind == .batchFailed ? failure?.count ?? 0 : 0)
            },
            batchSize: settings.batchSize)
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

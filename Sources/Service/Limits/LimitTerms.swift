/// The limits of one tier for one kind of request, and how they are told.
package final class LimitTerms: Sendable {
    let requests: Settings.Limit
    /// `nil` where nothing but requests is counted.
    let volume: Settings.Limit?
    /// The value of `RateLimit-Policy`.
    let policy: String
    /// What stands before the numbers of a window in `RateLimit`, such as `"renew";r=`.
    let label: [UInt8]
    let volumeLabel: [UInt8]

    /// - Parameters:
    ///   - limits: those of everybody.
    ///   - quota: the tier's own number of requests in the same window.
    ///   - volume: the tier's own number of keys or bytes.
    init(_ name: LimitName, _ limits: Settings.Limits, quota: Int? = nil, volume: Int? = nil) {
        requests = limits[name].with(quota)
        let policy = requests.policy(named: name)
        label = Self.label(name)
        volumeLabel = name.volume.map(Self.label) ?? []
        guard let other = name.volume else {
            (self.volume, self.policy) = (nil, policy)
            return
        }
        let limit = limits[other].with(volume)
        (self.volume, self.policy) = (limit, policy + ", " + limit.policy(named: other))
    }

    private static func label(_ name: LimitName) -> [UInt8] { Array("\"\(name.rawValue)\";r=".utf8) }

    func hasQuotas(of other: LimitTerms) -> Bool {
        self === other || requests.quota == other.requests.quota && volume?.quota == other.volume?.quota
    }
}

extension Settings.Limit {
    fileprivate func with(_ quota: Int?) -> Settings.Limit {
        var limit = self
        limit.quota = quota ?? self.quota
        return limit
    }
}

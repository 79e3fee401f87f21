/// The limits of one tier for one kind of request, and how they are told.
package final class LimitTerms: Sendable {
    /// What a tier has of its own, in the windows of everybody.
    struct Quota {
        /// Of a device; `nil` for as many as everybody.
        var device: Int?
        /// Of a user; `nil` for four times the tier's own, else for as many as everybody.
        var user: Int?

        init(_ device: Int? = nil, user: Int? = nil) {
            self.device = device
            self.user = user ?? device.map(Settings.Limit.userQuota(forDevice:))
        }

        func times(_ factor: Int) -> Quota { Quota(device.map { $0 * factor }, user: user.map { $0 * factor }) }
    }

    let requests: Settings.Limit
    /// `nil` where nothing but requests is counted.
    let volume: Settings.Limit?
    /// The value of `RateLimit-Policy`.
    let policy: String
    /// What stands before the numbers of a window in `RateLimit`, such as `"renew";r=`.
    let label: [UInt8]
    let volumeLabel: [UInt8]
    let userLabel: [UInt8]
    let userVolumeLabel: [UInt8]

    /// - Parameters:
    ///   - limits: those of everybody.
    ///   - quota: the tier's own number of requests.
    ///   - volume: the tier's own number of keys or bytes.
    init(_ name: LimitName, _ limits: Settings.Limits, quota: Quota = Quota(), volume: Quota = Quota()) {
        requests = limits[name].with(quota)
        label = Self.label(name.rawValue)
        userLabel = Self.label(name.ofUser)
        volumeLabel = name.volume.map { Self.label($0.rawValue) } ?? []
        userVolumeLabel = name.volume.map { Self.label($0.ofUser) } ?? []
        var limited = [(name, requests)]
        self.volume = name.volume.map { limits[$0].with(volume) }
        if let other = name.volume, let volume = self.volume { limited.append((other, volume)) }
        policy =
            (limited.map { $1.policy(named: $0) } + limited.map { $1.userPolicy(named: $0) }).joined(separator: ", ")
    }

    private static func label(_ name: String) -> [UInt8] { Array("\"\(name)\";r=".utf8) }

    func hasQuotas(of other: LimitTerms) -> Bool {
        self === other
            || requests.hasQuotas(of: other.requests) && volume?.quota == other.volume?.quota
                && volume?.userQuota == other.volume?.userQuota
    }
}

extension Settings.Limit {
    fileprivate func with(_ quota: LimitTerms.Quota) -> Settings.Limit {
        var limit = self
        limit.quota = quota.device ?? self.quota
        limit.userQuota = quota.user ?? userQuota
        return limit
    }

    fileprivate func hasQuotas(of other: Settings.Limit) -> Bool {
        quota == other.quota && userQuota == other.userQuota
    }
}

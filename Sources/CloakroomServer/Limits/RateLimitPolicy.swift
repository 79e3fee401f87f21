import CloakroomHTTP

/// The limits of one tier for one kind of request, and how they are told.
package final class RateLimitPolicy: Sendable {
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
    let quantity: Settings.Limit?
    /// `RateLimit-Policy`, as it is sent.
    let field: HeaderFields
    /// What stands before the numbers of a window in `RateLimit`, such as `"renew";r=`.
    let label: [UInt8]
    let quantityLabel: [UInt8]
    let userLabel: [UInt8]
    let userQuantityLabel: [UInt8]

    /// - Parameters:
    ///   - limits: those of everybody.
    ///   - quota: the tier's own number of requests.
    ///   - quantity: the tier's own number of keys or bytes.
    init(_ name: RateLimitName, _ limits: Settings.Limits, quota: Quota = Quota(), quantity: Quota = Quota()) {
        requests = limits[name].with(quota)
        label = Self.label(name.rawValue)
        userLabel = Self.label(name.ofUser)
        quantityLabel = name.quantity.map { Self.label($0.rawValue) } ?? []
        userQuantityLabel = name.quantity.map { Self.label($0.ofUser) } ?? []
        var limited = [(name, requests)]
        self.quantity = name.quantity.map { limits[$0].with(quantity) }
        if let other = name.quantity, let quantity = self.quantity { limited.append((other, quantity)) }
        let windows = limited.map { $1.policy(named: $0) } + limited.map { $1.userPolicy(named: $0) }
        field = ["RateLimit-Policy": windows.joined(separator: ", ")]
    }

    private static func label(_ name: String) -> [UInt8] { Array("\"\(name)\";r=".utf8) }

    func hasQuotas(of other: RateLimitPolicy) -> Bool {
        self === other
            || requests.hasQuotas(of: other.requests) && quantity?.quota == other.quantity?.quota
                && quantity?.userQuota == other.quantity?.userQuota
    }
}

extension Settings.Limit {
    fileprivate func with(_ quota: RateLimitPolicy.Quota) -> Settings.Limit {
        var limit = self
        limit.quota = quota.device ?? self.quota
        limit.userQuota = quota.user ?? userQuota
        return limit
    }

    fileprivate func hasQuotas(of other: Settings.Limit) -> Bool {
        quota == other.quota && userQuota == other.userQuota
    }
}

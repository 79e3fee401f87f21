import CloakroomLoop
import CloakroomRedis

/// What the windows of a request held before it was counted.
struct RateLimitCount: Sendable {
    struct Window: Sendable {
        let used: Int
        /// Until it ends.
        let left: Milliseconds

        func admits(_ cost: Int, by quota: Int) -> Bool { cost == 0 || used <= quota - cost }
    }

    /// The windows of a device, or of all devices of a user.
    struct Pair: Sendable {
        let requests: Window
        let quantity: Window?
    }

    let device: Pair
    let user: Pair

    /// Whose windows let the request in, each by itself.
    func admitting(_ cost: RateLimitCost, by terms: RateLimitPolicy) -> RateLimitLevels {
        var parts: RateLimitLevels = []
        if device.refusal(cost, terms.requests.quota, terms.quantity?.quota) == nil { parts.insert(.device) }
        if user.refusal(cost, terms.requests.userQuota, terms.quantity?.userQuota) == nil { parts.insert(.user) }
        return parts
    }

    struct Refusal {
        let name: RateLimitName
        /// Whether it is the window of the user.
        let isOfUser: Bool
        let left: Milliseconds
    }

    /// - Returns: of the windows that refuse the one that ends last.
    func refusal(_ cost: RateLimitCost, by terms: RateLimitPolicy) -> Refusal? {
        let one = device.refusal(cost, terms.requests.quota, terms.quantity?.quota)
        let all = user.refusal(cost, terms.requests.userQuota, terms.quantity?.userQuota)
        if let all, one.map({ $0.left < all.left }) ?? true {
            return Refusal(name: all.name, isOfUser: true, left: all.left)
        }
        return one.map { Refusal(name: $0.name, isOfUser: false, left: $0.left) }
    }
}

/// Whose windows: counted by one call, or by one call each.
struct RateLimitLevels: OptionSet, Sendable {
    let rawValue: UInt8

    static let device = RateLimitLevels(rawValue: 1)
    static let user = RateLimitLevels(rawValue: 2)
    static let all: RateLimitLevels = [.device, .user]
}

extension RateLimitCount.Pair {
    fileprivate func refusal(_ cost: RateLimitCost, _ quota: Int, _ quantityQuota: Int?) -> (
        name: RateLimitName, left: Milliseconds
    )? {
        let first = requests.admits(1, by: cost.bound(quota)) ? nil : (cost.name, requests.left)
        guard let quantityQuota, let name = cost.name.quantity, let quantity,
            !quantity.admits(cost.quantity, by: quantityQuota)
        else { return first }
        guard let first, first.1 >= quantity.left else { return (name, quantity.left) }
        return first
    }
}

/// A time left, as Redis tells it. `Duration` has 128 bits, whose divisions would be most of what writing it costs.
struct Milliseconds: Sendable, Comparable {
    private let count: Int

    static func milliseconds(_ count: Int) -> Milliseconds { Milliseconds(count: count) }

    static let zero = Milliseconds(count: 0)

    /// Rounded up: a client that comes back then finds a new window.
    var wholeSeconds: Int { (count + 999) / 1000 }

    static func < (left: Milliseconds, right: Milliseconds) -> Bool { left.count < right.count }
}

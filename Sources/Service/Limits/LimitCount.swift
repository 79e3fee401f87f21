import Loop
import Redis

/// What the windows of a request held before it was counted.
struct LimitCount: Sendable {
    struct Window: Sendable {
        let used: Int
        /// Until it ends.
        let left: Duration

        func admits(_ cost: Int, by quota: Int) -> Bool { cost == 0 || used <= quota - cost }
    }

    /// The windows of a device, or of all devices of a user.
    struct Pair: Sendable {
        let requests: Window
        let volume: Window?
    }

    let device: Pair
    let user: Pair

    /// Whose windows let the request in, each by itself.
    func admitting(_ charge: Charge, by terms: LimitTerms) -> LimitParts {
        var parts: LimitParts = []
        if device.refusal(charge, terms.requests.quota, terms.volume?.quota) == nil { parts.insert(.device) }
        if user.refusal(charge, terms.requests.userQuota, terms.volume?.userQuota) == nil { parts.insert(.user) }
        return parts
    }

    struct Refusal {
        let name: LimitName
        /// Whether it is the window of the user.
        let isOfUser: Bool
        let left: Duration
    }

    /// - Returns: of the windows that refuse the one that ends last.
    func refusal(_ charge: Charge, by terms: LimitTerms) -> Refusal? {
        let one = device.refusal(charge, terms.requests.quota, terms.volume?.quota)
        let all = user.refusal(charge, terms.requests.userQuota, terms.volume?.userQuota)
        if let all, one.map({ $0.left < all.left }) ?? true {
            return Refusal(name: all.name, isOfUser: true, left: all.left)
        }
        return one.map { Refusal(name: $0.name, isOfUser: false, left: $0.left) }
    }
}

/// Whose windows: counted by one call, or by one call each.
struct LimitParts: OptionSet, Sendable {
    let rawValue: UInt8

    static let device = LimitParts(rawValue: 1)
    static let user = LimitParts(rawValue: 2)
    static let all: LimitParts = [.device, .user]
}

extension LimitCount.Pair {
    fileprivate func refusal(_ charge: Charge, _ quota: Int, _ volumeQuota: Int?) -> (name: LimitName, left: Duration)?
    {
        let first = requests.admits(1, by: quota) ? nil : (charge.name, requests.left)
        guard let volumeQuota, let name = charge.name.volume, let volume,
            !volume.admits(charge.volume, by: volumeQuota)
        else { return first }
        guard let first, first.1 >= volume.left else { return (name, volume.left) }
        return first
    }
}

extension Duration {
    /// Whole milliseconds.
    package var milliseconds: Int {
        Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }
}

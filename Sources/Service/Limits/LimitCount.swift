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

    let requests: Window
    let volume: Window?

    func admits(_ charge: Charge, by terms: LimitTerms) -> Bool { windowsRefusing(charge, by: terms) == nil }

    /// - Returns: of the windows that refuse the one that ends last.
    func windowsRefusing(_ charge: Charge, by terms: LimitTerms) -> (name: LimitName, left: Duration)? {
        let first = requests.admits(1, by: terms.requests.quota) ? nil : (charge.name, requests.left)
        guard let limit = terms.volume, let name = charge.name.volume, let volume,
            !volume.admits(charge.volume, by: limit.quota)
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

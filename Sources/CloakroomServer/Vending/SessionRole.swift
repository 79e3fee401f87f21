package import CloakroomAWS

/// A role that users' sessions assume, and how STS is called for it.
package struct SessionRole: Sendable, Equatable {
    /// What the role of `vending.roleARN` is called.
    package static let mainName = "main"
    /// A label of metrics, and what decides which users have the role.
    package let name: String
    package let arn: String
    package let externalID: String?
    /// Of the shared files, whose credentials sign the calls; `nil` for the worker's own.
    package let profile: String?
    package let sts: Endpoint

    package init(name: String, arn: String, externalID: String?, profile: String?, sts: Endpoint) {
        self.name = name
        self.arn = arn
        self.externalID = externalID
        self.profile = profile
        self.sts = sts
    }

    /// As IAM names it: without path and account.
    package var nameInIAM: String { arn.split(separator: "/").last.map(String.init) ?? arn }

    /// The AWS account that the role is in; `nil` for an ARN without one, such as Ceph's.
    package var account: String? {
        let parts = arn.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count > 4 && !parts[4].isEmpty ? String(parts[4]) : nil
    }
}

/// The roles over which users are spread, and those that users had before.
package struct SessionRoles: Sendable {
    /// The first is that of `vending.roleARN`.
    package let active: [SessionRole]
    /// Assumed for none, but revocations reach their sessions.
    package let retired: [SessionRole]
    private let seeds: [UInt64]

    /// - Precondition: at least one role is active.
    package init(active: [SessionRole], retired: [SessionRole] = []) {
        precondition(!active.isEmpty)
        self.active = active
        self.retired = retired
        seeds = active.map { Self.mixed(Self.hash($0.name)) }
    }

    package var main: SessionRole { active[0] }

    /// The index of a user's role among ``active``: by names alone, so it is the same in every worker and after every
    /// start. Another role moves only its share of users, and to itself.
    ///
    /// Source: Thaler, Ravishankar, "Using name-based mappings to increase hit rates" (rendezvous hashing).
    package func index(for user: UserID) -> Int {
        guard active.count > 1 else { return 0 }
        let hash = Self.hash(user.text)
        var (best, greatest) = (0, UInt64.min)
        for (index, seed) in seeds.enumerated() {
            let weight = Self.mixed(hash ^ seed)
            if weight > greatest { (best, greatest) = (index, weight) }
        }
        return best
    }

    /// One of each ARN: all that users' sessions may be of.
    package var distinct: [SessionRole] {
        var seen: Set<String> = []
        return (active + retired).filter { seen.insert($0.arn).inserted }
    }

    /// FNV-1a of 64 bits (draft-eastlake-fnv).
    private static func hash(_ text: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return hash
    }

    /// The last steps of SplitMix64: close hashes give weights that have nothing in common.
    private static func mixed(_ hash: UInt64) -> UInt64 {
        var hash = hash &+ 0x9E37_79B9_7F4A_7C15
        hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        return hash ^ (hash >> 31)
    }
}

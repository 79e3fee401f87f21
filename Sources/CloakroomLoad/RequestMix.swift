/// Which kind each request of a run is: drawn by weight from the request's number, so that each run sends the same.
package struct RequestMix: Sendable, Equatable {
    package struct Share: Sendable, Equatable {
        package let route: LoadRoute
        package let weight: Int

        package init(_ route: LoadRoute, weight: Int) {
            self.route = route
            self.weight = weight
        }
    }

    package enum ParsingError: Error, Sendable, Equatable {
        case malformed(String)
        case unknownRoute(String)
        case twice(String)
        case noWeight
    }

    package let shares: [Share]
    private let total: UInt64
    private static let maximumWeight = 1_000_000

    package init(_ shares: [Share]) {
        self.shares = shares
        total = UInt64(shares.reduce(0) { $0 + $1.weight })
        precondition(total > 0, "a mix without requests")
    }

    /// - Parameter text: `vend=70,renew=20,upload=10`; a name alone weighs 1.
    package init(parsing text: String) throws(ParsingError) {
        var shares: [Share] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let words = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let route = LoadRoute(rawValue: String(words[0])) else { throw .unknownRoute(String(words[0])) }
            guard !shares.contains(where: { $0.route == route }) else { throw .twice(route.rawValue) }
            guard let weight = words.count == 1 ? 1 : Int(words[1]), (0...Self.maximumWeight).contains(weight) else {
                throw .malformed(String(part))
            }
            shares.append(Share(route, weight: weight))
        }
        guard shares.contains(where: { $0.weight > 0 }) else { throw .noWeight }
        self.init(shares.filter { $0.weight > 0 })
    }

    /// - Returns: the index of its share.
    package func share(of request: Int) -> Int {
        guard shares.count > 1 else { return 0 }
        var point = Self.scattered(UInt64(request)) % total
        for (index, share) in shares.enumerated() {
            guard point >= UInt64(share.weight) else { return index }
            point -= UInt64(share.weight)
        }
        return shares.count - 1
    }

    package var text: String { shares.map { "\($0.route.rawValue)=\($0.weight)" }.joined(separator: ",") }

    /// Neighbours get values that have nothing to do with each other (SplitMix64).
    private static func scattered(_ number: UInt64) -> UInt64 {
        var value = number &* 0x9E37_79B9_7F4A_7C15 &+ 0x9E37_79B9_7F4A_7C15
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

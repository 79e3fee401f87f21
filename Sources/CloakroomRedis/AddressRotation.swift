/// Which address of a name is tried next: the first that has not failed since all of them had.
///
/// The addresses are remembered and not their places: name servers return them in another order each time.
struct AddressRotation: Sendable {
    private var addresses: [String] = []
    private var failed: Set<String> = []
    private var current: String?

    /// Whether there are addresses that have not failed besides the current one.
    var hasOthers: Bool { addresses.contains { $0 != current && !failed.contains($0) } }

    /// Takes the next address.
    ///
    /// - Parameter found: what the name leads to now, in the order in which it should be tried.
    /// - Returns: `nil` where that is nothing.
    mutating func next(of found: [String]) -> String? {
        failed.formIntersection(found)
        if failed.count == Set(found).count { failed = [] }
        addresses = found
        current = found.first { !failed.contains($0) }
        return current
    }

    /// The current address led to no server that is of use.
    mutating func fail() {
        if let current { failed.insert(current) }
    }
}

/// Which address of a name is tried next: the current one as long as it has not failed, else the first that has not since all
/// of them had, or since one was of use.
///
/// The addresses are remembered and not their places: name servers return them in another order each time.
struct AddressRotation: Sendable {
    private var addresses: [String] = []
    private var failed: Set<String> = []
    private var current: String?
    /// Whether the current one was taken since the last attempt began.
    private var isTaken = false

    /// Whether there are addresses that have not failed besides the current one.
    var hasOthers: Bool { isTaken && addresses.contains { $0 != current && !failed.contains($0) } }

    /// Another attempt, which may end before the name is resolved.
    mutating func begin() { isTaken = false }

    /// Takes the next address.
    ///
    /// - Parameter found: what the name leads to now, in the order in which it should be tried.
    /// - Returns: `nil` where that is nothing.
    mutating func next(of found: [String]) -> String? {
        failed.formIntersection(found)
        if failed.count == Set(found).count { (failed, current) = ([], nil) }
        addresses = found
        isTaken = true
        if let current, found.contains(current), !failed.contains(current) { return current }
        current = found.first { !failed.contains($0) }
        return current
    }

    /// The current address led to no server that is of use.
    mutating func fail() {
        if isTaken, let current { failed.insert(current) }
    }

    /// The current address has led to a server that was of use until now: the others may have come back meanwhile.
    mutating func wasOfUse() { failed = [] }
}

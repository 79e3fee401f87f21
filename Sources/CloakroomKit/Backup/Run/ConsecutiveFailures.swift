/// When failures concern more than one file, so that continuing would only cost time.
package struct ConsecutiveFailures {
    /// In a row.
    private let most: Int
    private var count = 0

    package init(most: Int) { self.most = most }

    /// Something went well.
    package mutating func end() { count = 0 }

    /// - Parameter isOfOne: whether an error that otherwise concerns all files may concern this one alone.
    /// - Returns: whether to stop.
    package mutating func exceedsLimit(with error: CloakroomError, isOfOne: Bool = false) -> Bool {
        switch isOfOne ? .perhapsAll : error.reach {
        case .one: count = 0
        case .perhapsAll: count += 1
        case .all: return true
        }
        return count >= most
    }
}

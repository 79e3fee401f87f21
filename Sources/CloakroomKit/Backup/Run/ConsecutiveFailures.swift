/// When failures concern more than one file, so that continuing would only cost time.
package struct ConsecutiveFailures {
    /// In a row, of those that may concern all files.
    private let most: Int
    /// In a row, of whatever kind.
    private let mostOfAny: Int
    private var count = 0
    private var countOfAny = 0

    package init(most: Int, ofAny mostOfAny: Int = .max) {
        self.most = most
        self.mostOfAny = mostOfAny
    }

    /// Something went well.
    package mutating func end() { (count, countOfAny) = (0, 0) }

    /// - Parameter isOfOne: whether an error that otherwise concerns all files may concern this one alone.
    /// - Returns: whether to stop.
    package mutating func exceedsLimit(with error: CloakroomError, isOfOne: Bool = false) -> Bool {
        countOfAny += 1
        switch isOfOne ? .perhapsAll : error.reach {
        case .one: count = 0
        case .perhapsAll: count += 1
        case .all: return true
        }
        return count >= most || countOfAny >= mostOfAny
    }
}

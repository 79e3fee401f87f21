import CloakroomCrypto
import CloakroomJSON

/// Follows the chains through audit lines, one line after the other, in memory that depends on the number of chains
/// and of faults alone.
///
/// What it can find: a line that was changed, taken out, moved or copied, as long as a later line of its chain is
/// there. What no chain can show: that its last lines are gone, or that all from some line on were written anew by
/// an attacker who may write there. Against that, keep the last digests somewhere else.
package struct AuditVerifier: Sendable {
    package struct Chain: Sendable, Equatable {
        package let id: String
        package internal(set) var worker: String?
        /// The first that was seen; more than 1 when older lines are elsewhere, or gone.
        package let first: Int
        package internal(set) var last: Int
        /// Of the last line, in hexadecimal.
        package internal(set) var digest: String
        package internal(set) var lines = 1
        package internal(set) var faults = 0
        /// What was jumped over and has not come since.
        var gaps: [ClosedRange<Int>] = []
    }

    package struct Discrepancy: Sendable, Equatable, CustomStringConvertible {
        package let location: String
        package let what: String

        package var description: String { "\(location): \(what)" }
    }

    /// The longest line that is read; ours are far shorter.
    package static let maximumLineBytes = 1 << 16
    private static let maximumChains = 1_000_000
    private static let maximumGaps = 1000

    package private(set) var chains: [Chain] = []
    /// Lines that are no audit lines, such as a log's, when both go to standard error.
    package private(set) var otherLines = 0
    /// Lines without their end, as a full disk leaves them: nothing was issued for those.
    package private(set) var pieces = 0
    package private(set) var faultCount = 0
    private var indexByID: [String: Int] = [:]
    private let isContinued: Bool
    private let onFault: @Sendable (Discrepancy) -> Void

    /// - Parameters:
    ///   - isContinued: whether chains may begin elsewhere, as in files that were rotated and in a trimmed stream.
    ///   - onFault: told of each fault as it is found.
    package init(isContinued: Bool = false, onFault: @escaping @Sendable (Discrepancy) -> Void) {
        self.isContinued = isContinued
        self.onFault = onFault
    }

    /// - Parameters:
    ///   - line: without its line feed.
    ///   - isTooLong: whether it was longer than ``maximumLineBytes``; the line itself may be left out then.
    ///   - location: where it stands, for people.
    package mutating func verify(_ line: [UInt8], isTooLong: Bool = false, at location: @autoclosure () -> String) {
        guard !isTooLong else { return report(nil, location(), "this line is longer than any of ours") }
        guard !line.isEmpty else { return }
        guard let object = (try? JSON(parsing: line))?.object else {
            if let rest = Self.afterPiece(line) {
                pieces += 1
                return verify(rest, at: location())
            }
            if line.last == UInt8(ascii: "}") { return report(nil, location(), "this is no JSON") }
            pieces += 1
            return
        }
        guard object["audit"] != nil else {
            otherLines += 1
            return
        }
        guard let id = object["chain"]?.string, let sequence = object["sequence"]?.integer, sequence > 0 else {
            return report(nil, location(), "this audit line belongs to no chain")
        }
        let link = Link(
            sequence: sequence, digest: SHA256.hash(line).hexadecimal, previous: object["previous"]?.string,
            worker: object["start"]?.object?["worker"]?.string)
        guard let index = indexByID[id] else { return begin(id, link, location()) }
        follow(index, link, location)
    }

    /// What a full disk left of one worker's line, the next line of another worker follows on the same line.
    ///
    /// - Returns: the line that is whole, if there is one; quotes within a line are escaped, so there is but one place
    ///   where it can begin.
    private static func afterPiece(_ line: [UInt8]) -> [UInt8]? {
        let head = Array(#"{"time":""#.utf8)
        guard line.last == UInt8(ascii: "}"), line.count > head.count else { return nil }
        var start = line.count - head.count
        while start > 0 {
            if line[start] == head[0], line[start...].starts(with: head) {
                let rest = Array(line[start...])
                return (try? JSON(parsing: rest)) == nil ? nil : rest
            }
            start -= 1
        }
        return nil
    }

    /// The last line of a file has no line feed: it was cut, or is being written.
    package mutating func endsWithinALine(at location: String) { report(nil, location, "the file ends within a line") }

    /// Tells of the lines that never came; called when all lines have been taken.
    package mutating func finish() {
        for index in chains.indices {
            let missing = chains[index].gaps
            for gap in missing {
                let which =
                    gap.count == 1 ? "line \(gap.lowerBound) is" : "lines \(gap.lowerBound) to \(gap.upperBound) are"
                report(index, "chain \(chains[index].id)", "\(which) missing")
            }
        }
    }

    private struct Link {
        let sequence: Int
        let digest: String
        let previous: String?
        let worker: String?
    }

    private mutating func begin(_ id: String, _ link: Link, _ location: String) {
        guard chains.count < Self.maximumChains else { return report(nil, location, "there are too many chains") }
        indexByID[id] = chains.count
        chains.append(
            Chain(
                id: id, worker: link.worker, first: link.sequence, last: link.sequence, digest: link.digest,
                gaps: isContinued || link.sequence == 1 ? [] : [1...link.sequence - 1]))
        if (link.sequence == 1) != (link.previous == nil) {
            report(chains.count - 1, location, "line \(link.sequence) of chain \(id) was changed")
        }
    }

    private mutating func follow(_ index: Int, _ link: Link, _ location: () -> String) {
        let (id, last) = (chains[index].id, chains[index].last)
        chains[index].lines += 1
        guard link.sequence > last else { return comeLate(index, link, location()) }
        if link.sequence > last + 1 {
            if chains[index].gaps.count < Self.maximumGaps {
                chains[index].gaps.append(last + 1...link.sequence - 1)
            } else {
                report(
                    index, location(), "lines \(last + 1) to \(link.sequence - 1) of chain \(id) do not stand before it"
                )
            }
        } else if link.previous != chains[index].digest {
            report(
                index, location(),
                "line \(link.sequence) of chain \(id) does not fit line \(last): one of the two was changed")
        }
        chains[index].last = link.sequence
        chains[index].digest = link.digest
    }

    private mutating func comeLate(_ index: Int, _ link: Link, _ location: String) {
        let (id, sequence) = (chains[index].id, link.sequence)
        guard let gap = chains[index].gaps.firstIndex(where: { $0.contains(sequence) }) else {
            let what = sequence < chains[index].first ? "comes too late" : "is there a second time"
            return report(index, location, "line \(sequence) of chain \(id) \(what)")
        }
        let range = chains[index].gaps.remove(at: gap)
        if sequence < range.upperBound { chains[index].gaps.insert(sequence + 1...range.upperBound, at: gap) }
        if sequence > range.lowerBound { chains[index].gaps.insert(range.lowerBound...sequence - 1, at: gap) }
        report(index, location, "line \(sequence) of chain \(id) is out of order")
    }

    private mutating func report(_ index: Int?, _ location: String, _ what: String) {
        faultCount += 1
        if let index { chains[index].faults += 1 }
        onFault(Discrepancy(location: location, what: what))
    }
}

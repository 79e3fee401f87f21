import CloakroomCrypto
import CloakroomJSON

/// Audit lines still without what ties them to the one before, and who waits for them: bytes are cheaper to keep than
/// all that an issue holds.
struct AuditQueue {
    private var text = JSONWriter(capacity: 768)
    private var ends: [Int] = []
    private var completions: [AuditLog.Completion] = []
    /// Those that were taken last: the memory is used again once there is no reference to them.
    private var whole = JSONWriter(capacity: 1024)

    var isEmpty: Bool { ends.isEmpty }

    /// - Parameter start: see ``LineStart``.
    mutating func append(_ issue: AuditLog.Issuance, start: [UInt8], _ completion: @escaping AuditLog.Completion) {
        issue.write(to: &text, start: start)
        ends.append(text.bytes.count)
        completions.append(completion)
    }

    /// Ties the first lines to a chain; they wait here no longer. There must be some.
    ///
    /// - Parameter count: at most so many.
    mutating func takeFirst(_ count: Int, into chain: inout AuditChain, hashing hash: inout SHA256) -> AuditBatch {
        let count = min(count, ends.count)
        whole.startAgain()
        var wholeEnds: [Int] = []
        wholeEnds.reserveCapacity(count)
        var start = 0
        for end in ends.prefix(count) {
            chain.append(text.bytes[start..<end], to: &whole, hashing: &hash)
            wholeEnds.append(whole.bytes.count)
            start = end
        }
        let batch = AuditBatch(bytes: whole.bytes, ends: wholeEnds, completions: Array(completions.prefix(count)))
        removeFirst(count)
        return batch
    }

    private mutating func removeFirst(_ count: Int) {
        guard count < ends.count else {
            text.startAgain()
            ends.removeAll(keepingCapacity: true)
            return completions.removeAll(keepingCapacity: true)
        }
        let taken = ends[count - 1]
        let rest = text.bytes[taken...]
        text.startAgain()
        text.resume(rest)
        ends = ends.dropFirst(count).map { $0 - taken }
        completions.removeFirst(count)
    }
}

/// Whole audit lines, one behind the other, and who waits for each.
struct AuditBatch {
    let bytes: [UInt8]
    /// Where each line ends, its line feed included.
    let ends: [Int]
    let completions: [AuditLog.Completion]

    /// Each without its line feed.
    var lines: [ArraySlice<UInt8>] {
        ends.indices.map { bytes[($0 == 0 ? 0 : ends[$0 - 1])..<ends[$0] - 1] }
    }
}

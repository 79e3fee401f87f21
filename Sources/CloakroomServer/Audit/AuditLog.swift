import CloakroomCrypto
import CloakroomHTTP
import CloakroomJSON
package import CloakroomLoop
import CloakroomWire

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The record of what was issued, to whom. A line is written before what it speaks of leaves the worker.
@LoopActor
package final class AuditLog {
    package enum Destination {
        case lines(LineSink)
        case stream(AuditStream)
    }

    /// Told whether the line has been written; if not, nothing may be issued.
    package typealias Completion = @LoopActor (Bool) -> Void

    private let destination: Destination
    private let drawID: () -> String
    private var start: LineStart
    private var chain: AuditChain
    private var hash = SHA256()
    private var waiting = AuditQueue()
    /// Lines are being put down: those that come meanwhile are next.
    private var isBusy = false

    /// - Parameters:
    ///   - worker: how the chain's first line names the worker.
    ///   - drawID: 16 hexadecimal digits for a new chain.
    package init(
        _ destination: Destination, worker: String, process: Int, now: @escaping @Sendable () -> Date = { Date() },
        drawID: @escaping () -> String = { randomBytes(AuditChain.idLength / 2).hexadecimal }
    ) {
        self.destination = destination
        self.drawID = drawID
        start = LineStart(now: now)
        chain = AuditChain(id: drawID(), worker: worker, process: process)
    }

    /// - Parameter completion: called once, never before this returns.
    package func record(_ issue: Issuance, _ completion: @escaping Completion) {
        waiting.append(issue, start: start.text, completion)
        schedule()
    }

    /// All lines of a turn go out together.
    private func schedule() {
        guard !isBusy else { return }
        isBusy = true
        EventPoller.shared.atTurnEnd { [self] in flush() }
    }

    private func flush() {
        var grown = chain
        let batch = waiting.dequeue(AuditStream.linesAtOnce, into: &grown, hashing: &hash)
        switch destination {
        case .lines(let sink): finish(batch, kept: sink.write(batch.bytes, ends: batch.ends), grown)
        case .stream(let stream):
            LoopActor.spawn { [self] in
                switch await stream.add(batch.lines) {
                case .kept: finish(batch, kept: batch.ends.count, grown)
                case .refused: finish(batch, kept: 0, grown)
                case .unknown:
                    // Whether the chain has grown cannot be told, so that no line can be tied to its end.
                    chain = chain.successor(id: drawID())
                    finish(batch, kept: 0, grown)
                }
            }
        }
    }

    /// - Parameters:
    ///   - kept: how many of the lines were, from the first on.
    ///   - grown: the chain with all of them.
    private func finish(_ batch: AuditBatch, kept: Int, _ grown: AuditChain) {
        if kept == batch.ends.count {
            chain = grown
        } else {
            for line in batch.lines.prefix(kept) { chain.advance(past: line, hashing: &hash) }
        }
        isBusy = false
        for (index, completion) in batch.completions.enumerated() { completion(index < kept) }
        if !waiting.isEmpty { schedule() }
    }
}

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
    mutating func dequeue(_ count: Int, into chain: inout AuditChain, hashing hash: inout SHA256) -> AuditBatch {
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

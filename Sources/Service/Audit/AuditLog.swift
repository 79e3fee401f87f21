import CloakroomCrypto
import CloakroomWire
import HTTPValues
package import Loop
import StrictJSON

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
    private var clock: ClockText
    private var chain: AuditChain
    /// Lines still without what ties them to the one before: bytes are cheaper to keep than all that an issue holds.
    private var waiting: [(line: JSONWriter, completion: Completion)] = []
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
        clock = ClockText(now: now)
        chain = AuditChain(id: drawID(), worker: worker, process: process)
    }

    /// - Parameter completion: called once, never before this returns.
    package func record(_ issue: Issue, _ completion: @escaping Completion) {
        waiting.append((issue.line(at: clock.text), completion))
        schedule()
    }

    /// All lines of a turn go out together.
    private func schedule() {
        guard !isBusy else { return }
        isBusy = true
        Reactor.shared.atTurnEnd { [self] in putDown() }
    }

    private func putDown() {
        let count = min(waiting.count, AuditStream.linesAtOnce)
        var grown = chain
        for index in 0..<count { grown.append(&waiting[index].line) }
        let batch = waiting.prefix(count)
        let (lines, completions) = (batch.map(\.line.bytes), batch.map(\.completion))
        waiting.removeFirst(count)
        switch destination {
        case .lines(let sink): finish(lines, completions, kept: sink.write(lines), grown)
        case .stream(let stream):
            LoopActor.spawn { [self] in
                switch await stream.add(lines) {
                case .kept: finish(lines, completions, kept: lines.count, grown)
                case .refused: finish(lines, completions, kept: 0, grown)
                case .unknown:
                    // Whether the chain has grown cannot be told, so that no line can be tied to its end.
                    chain = chain.successor(id: drawID())
                    finish(lines, completions, kept: 0, grown)
                }
            }
        }
    }

    /// - Parameters:
    ///   - kept: how many of the lines were, from the first on.
    ///   - grown: the chain with all of them.
    private func finish(_ lines: [[UInt8]], _ completions: [Completion], kept: Int, _ grown: AuditChain) {
        if kept == lines.count { chain = grown } else { lines.prefix(kept).forEach { chain.append($0) } }
        isBusy = false
        for (index, completion) in completions.enumerated() { completion(index < kept) }
        if !waiting.isEmpty { schedule() }
    }
}

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

    private typealias Waiter = CheckedContinuation<Bool, Never>

    private let destination: Destination
    private let drawID: () -> String
    private var clock: ClockText
    private var chain: AuditChain
    private var waiting: [(issue: Issue, waiter: Waiter)] = []
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

    /// - Returns: whether the line has been written; if not, nothing may be issued.
    package func record(_ issue: Issue) async -> Bool {
        await withCheckedContinuation { waiter in
            waiting.append((issue, waiter))
            schedule()
        }
    }

    /// All lines of a turn go out together.
    private func schedule() {
        guard !isBusy else { return }
        isBusy = true
        Reactor.shared.atTurnEnd { [self] in putDown() }
    }

    private func putDown() {
        let batch = Array(waiting.prefix(AuditStream.linesAtOnce))
        waiting.removeFirst(batch.count)
        var states = [chain]
        var lines: [[UInt8]] = []
        var next = chain
        let time = clock.text
        for (issue, _) in batch {
            let line = issue.line(at: time, in: next)
            next.append(line)
            states.append(next)
            lines.append(line)
        }
        switch destination {
        case .lines(let sink): finish(batch.map(\.waiter), kept: sink.write(lines), of: states)
        case .stream(let stream):
            let waiters = batch.map(\.waiter)
            LoopActor.spawn { [self] in
                switch await stream.add(lines) {
                case .kept: finish(waiters, kept: waiters.count, of: states)
                case .refused: finish(waiters, kept: 0, of: states)
                case .unknown:
                    // Whether the chain has grown cannot be told, so that no line can be tied to its end.
                    finish(waiters, kept: 0, of: [chain.successor(id: drawID())])
                }
            }
        }
    }

    /// - Parameter states: of the chain, by how many of the lines were kept.
    private func finish(_ waiters: [Waiter], kept: Int, of states: [AuditChain]) {
        chain = states[kept]
        isBusy = false
        for index in waiters.indices { waiters[index].resume(returning: index < kept) }
        if !waiting.isEmpty { schedule() }
    }
}

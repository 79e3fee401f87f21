package import CloakroomLoop

/// What a run has counted and measured so far: by phase, by route, and over time.
@LoopActor
package final class LoadTally {
    /// What is known of a request when it is sent.
    package struct Sent: Sendable {
        let share: Int
        let phase: Int
        /// When it was to be sent, in nanoseconds since the run began.
        let offset: UInt64
        /// How much later it was, in nanoseconds.
        let lateness: UInt64
    }

    /// Requests that belong together, such as those of a phase.
    package struct Group: Sendable, Equatable {
        /// How many were due.
        package var due = 0
        package var errors = 0
        /// From when a request was to be sent to its outcome, whatever that was; of those that were not sent there is none.
        package var latency = LatencyHistogram()
        package var statuses: [Int: Int] = [:]
        package var failures: [LoadFailure: Int] = [:]

        package init() {}

        mutating func end(_ outcome: LoadOutcome, after latency: UInt64) {
            count(outcome)
            self.latency.record(latency)
        }

        mutating func count(_ outcome: LoadOutcome) {
            if outcome.isError { errors += 1 }
            switch outcome {
            case .response(let status): statuses[status, default: 0] += 1
            case .failure(let failure): failures[failure, default: 0] += 1
            }
        }

        package mutating func add(_ other: Group) {
            due += other.due
            errors += other.errors
            latency.add(other.latency)
            statuses.merge(other.statuses) { $0 + $1 }
            failures.merge(other.failures) { $0 + $1 }
        }
    }

    package struct Phase: Sendable {
        package var shares: [Group]
        package var lateness = LatencyHistogram()
        /// How long requests waited for a connection, in nanoseconds.
        package var waits = LatencyHistogram()
        /// In nanoseconds since the run began; the phase's own beginning as long as nothing is back.
        package var lastEnd: UInt64
        package var mostOpen = 0

        package var all: Group {
            shares.reduce(into: Group()) { $0.add($1) }
        }
    }

    /// A short time of the run.
    package struct Slice: Sendable {
        /// Requests that were due within it, and what became of them later.
        package var group = Group()
        /// Requests whose outcome came within it.
        package var ended = 0
    }

    package private(set) var phases: [Phase]
    package private(set) var slices: [Slice] = []
    package let sliceSeconds: Double
    private let sliceNanoseconds: UInt64
    package private(set) var open = 0
    /// ``LoadTarget/connections``
    let connections: Int?
    /// Requests that wait for a connection, in order; those before ``served`` have had one.
    private var waiting: [Sent] = []
    private var served = 0
    package var wasStopped = false
    /// Of the whole run, warm-up included, for those who watch it.
    package private(set) var latest = Group()
    private static let maximumSlices = 120.0

    init(_ schedule: LoadSchedule, _ mix: RequestMix, connections: Int?) {
        self.connections = connections
        phases = schedule.phases.indices.map { index in
            Phase(
                shares: mix.shares.map { _ in Group() }, lastEnd: UInt64(schedule.start(ofPhase: index) * 1e9))
        }
        let steps = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 900]
        sliceSeconds = steps.first { schedule.seconds / $0 <= Self.maximumSlices } ?? 3600
        sliceNanoseconds = UInt64(sliceSeconds * 1e9)
    }

    func begin(_ sent: Sent) {
        open += 1
        markDue(sent)
        phases[sent.phase].lateness.record(sent.lateness)
        phases[sent.phase].mostOpen = max(phases[sent.phase].mostOpen, open)
        if let connections, open > connections {
            waiting.append(sent)
        } else {
            phases[sent.phase].waits.record(0)
        }
    }

    func leaveOut(_ sent: Sent) {
        markDue(sent)
        let outcome = LoadOutcome.failure(.notSent)
        phases[sent.phase].shares[sent.share].count(outcome)
        slices[slice(sent.offset)].group.count(outcome)
        latest.count(outcome)
    }

    /// - Parameter instant: in nanoseconds since the run began.
    func end(_ sent: Sent, _ outcome: LoadOutcome, at instant: UInt64) {
        open -= 1
        endWait(at: instant)
        let latency = instant - sent.offset
        phases[sent.phase].shares[sent.share].end(outcome, after: latency)
        phases[sent.phase].lastEnd = max(phases[sent.phase].lastEnd, instant)
        slices[slice(sent.offset)].group.end(outcome, after: latency)
        slices[slice(instant)].ended += 1
        latest.end(outcome, after: latency)
    }

    /// A connection is free: the request that has waited longest takes it.
    private func endWait(at instant: UInt64) {
        guard served < waiting.count else { return }
        let sent = waiting[served]
        served += 1
        phases[sent.phase].waits.record(instant - sent.offset - sent.lateness)
        if served > 1024 || served == waiting.count {
            waiting.removeFirst(served)
            served = 0
        }
    }

    /// What was counted since the last call, for a line that shows how a run goes.
    package func takeLatest() -> Group {
        defer { latest = Group() }
        return latest
    }

    private func markDue(_ sent: Sent) {
        phases[sent.phase].shares[sent.share].due += 1
        slices[slice(sent.offset)].group.due += 1
        latest.due += 1
    }

    private func slice(_ instant: UInt64) -> Int {
        let index = Int(instant / sliceNanoseconds)
        while slices.count <= index { slices.append(Slice()) }
        return index
    }
}

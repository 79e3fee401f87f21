import CloakroomKit
import Foundation

/// What one run has done, and what it may do: owned by the store while the run lasts.
final class RunState {
    let rules: TieringRun
    /// Whatever may leave leaves, however young.
    let isFreeing: Bool
    /// Whose photos go where.
    let identity: TierIdentity
    /// By the device's clock, when the run began.
    let date: Date
    var report = TieringReport()
    /// The device's clock shows a time before one that it has shown: nothing leaves.
    var isClockBehind: Bool

    /// By which photos were chosen that leave for its number of bytes.
    var policy: RetentionPolicy?

    private var failures = ConsecutiveFailures(most: 8)
    private var pace: Pace
    private var done = 0
    var total = 0

    init(_ rules: TieringRun, isFreeing: Bool, _ identity: TierIdentity, at date: Date, isClockBehind: Bool) {
        self.rules = rules
        self.isFreeing = isFreeing
        self.identity = identity
        self.date = date
        self.isClockBehind = isClockBehind
        pace = Pace(bytesPerSecond: rules.bytesPerSecond)
    }

    /// - Throws: the error, when going on would only cost time.
    func fail(_ photo: Int64, _ error: CloakroomError) throws(CloakroomError) {
        if error.code == .cancelled { throw error }
        if report.failures.count < 100 {
            report.failures.append(.init(photo: PhotoID(rawValue: photo), error: error))
        }
        if error.concernsTier || failures.exceedsLimit(with: error) { throw error }
    }

    func succeed() { failures.end() }

    /// - Returns: how many photos are done by now, of those that there are to do.
    func finish(_ count: Int) -> (done: Int, total: Int) {
        done += count
        return (done, max(total, done))
    }

    /// Waits as long as the pace of the run wants it after so many bytes.
    func spend(_ bytes: Int64) async throws { try await pace.spend(bytes) }
}

/// So many bytes a second, from the first ones on.
private struct Pace {
    let bytesPerSecond: Int?
    private var first: ContinuousClock.Instant?
    private var bytes: Int64 = 0

    init(bytesPerSecond: Int?) { self.bytesPerSecond = bytesPerSecond }

    mutating func spend(_ more: Int64) async throws {
        guard let bytesPerSecond, bytesPerSecond > 0 else { return }
        let begin = first ?? .now
        first = begin
        bytes += more
        let end = begin.advanced(by: .seconds(Double(bytes) / Double(bytesPerSecond)))
        if end > .now { try await Task.sleep(until: end, clock: .continuous) }
    }
}

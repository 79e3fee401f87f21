import Foundation

/// How often assets are renewed.
public struct AssetRenewalSettings: Sendable, Equatable {
    /// How long after a renewal the next one is due; earlier where half of the object's remaining lifetime is less.
    public var interval: Duration
    /// How many keys one request has: 1 to 100, which is the server's maximum.
    public var batchSize: Int

    public init(interval: Duration = .seconds(15 * 86_400), batchSize: Int = 100) {
        self.interval = interval
        self.batchSize = batchSize
    }
}

extension AssetRenewalSettings {
    /// By how much the clock may have been set back before records are ignored.
    private static let clockTolerance: TimeInterval = 3_600

    /// When a key is due, by the device's clock: that of the record, too. The server's own would be no better: it is not
    /// known before the first response, and a launch without work has none.
    func dueDate(of record: RenewalRecord?, now: Date) -> Date {
        guard let record else { return .distantPast }
        return max(renewalDueDate(of: record, now: now), retryDate(of: record.failure, now: now))
    }

    private func renewalDueDate(of record: RenewalRecord, now: Date) -> Date {
        guard let last = record.lastRenewed, last <= now + Self.clockTolerance else { return .distantPast }
        // An object that has just been renewed has not expired: there the two clocks disagree, and the interval says enough.
        let interval = interval / .seconds(1)
        guard let end = record.expiration, end > last else { return last + interval }
        return last + min(interval, end.timeIntervalSince(last) / 2)
    }

    /// Permanent failures are retried rarely; a missing object is requested again on another day in any case.
    private func retryDate(of failure: RenewalFailure?, now: Date) -> Date {
        guard let failure, failure.last <= now + Self.clockTolerance else { return .distantPast }
        switch failure.kind {
        case .notFound: return failure.last + 3_600
        case .refused: return failure.last + (failure.count == 1 ? 1 : 7) * 86_400
        case .failed, .batchFailed: return .distantPast
        }
    }
}

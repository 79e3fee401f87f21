import Foundation

/// What is recorded, and what could not be.
///
/// A full disk must not keep assets from being renewed: a run continues when its records cannot be written, and they wait
/// here for the next time.
final class RenewalLedger {
    let store: any RenewalStore
    private var waiting: [AssetKey: RenewalRecord] = [:]
    private var knownPauseEnd: Date?

    init(store: any RenewalStore) { self.store = store }

    var waitingCount: Int { waiting.count }

    func records() async throws -> [AssetKey: RenewalRecord] {
        var records: [AssetKey: RenewalRecord] = [:]
        for record in try await store.records() { records[AssetKey(record.key)] = record }
        return records.merging(waiting) { $1 }
    }

    func records(of keys: [AssetKey]) async throws -> [AssetKey: RenewalRecord] {
        var records: [AssetKey: RenewalRecord] = [:]
        guard !keys.isEmpty else { return records }
        for record in try await store.records(of: keys.map(\.text)) { records[AssetKey(record.key)] = record }
        for key in keys { if let record = waiting[key] { records[key] = record } }
        return records
    }

    func keys(notHeardSince date: Date) async throws -> [AssetKey] {
        try await store.keys(notHeardSince: date).map(AssetKey.init)
            .filter { key in waiting[key].map { $0.lastHeard < date } ?? true }
    }

    func save(_ records: [RenewalRecord]) async throws {
        for record in records { waiting[AssetKey(record.key)] = record }
        try await store.save(Array(waiting.values))
        waiting = [:]
    }

    func remove(_ keys: [AssetKey]) async throws {
        guard !keys.isEmpty else { return }
        for key in keys { waiting[key] = nil }
        try await store.remove(keys: keys.map(\.text))
    }

    /// The end of `Retry-After`, if it is in the future. No server sends more than a day: if the
    /// end is further off, the clock was set back.
    func pauseEnd(now: Date) async throws -> Date? {
        let stored = try await store.pauseEnd()
        return [stored, knownPauseEnd].compactMap(\.self)
            .filter { $0 > now && $0 <= now.addingTimeInterval(Self.longestPause) }.max()
    }

    /// - Returns: when the pause ends.
    func pause(for duration: Duration, now: Date) async -> Date {
        let end = now.addingTimeInterval(min(max(duration / .seconds(1), 0), Self.longestPause))
        knownPauseEnd = end
        // One that cannot be stored holds for this process; after a restart, the server says it again.
        try? await store.savePauseEnd(end)
        return end
    }

    private static let longestPause: TimeInterval = 86_400
}

public import Foundation

/// Where renewals are recorded, so that none is repeated before its time.
///
/// ``SQLiteRenewalStore`` keeps them in a file. Losing them loses nothing: everything is renewed once more.
public protocol RenewalStore: Sendable {
    /// All that is known.
    func records() async throws -> [RenewalRecord]

    /// What is known of these keys; the others have no record. Without it, all ``records()`` are read for each batch of
    /// assets.
    func records(of keys: [String]) async throws -> [RenewalRecord]

    /// The keys of which no response has said anything since then.
    func keys(notHeardSince date: Date) async throws -> [String]

    /// Puts these in place of those with the same keys, byte for byte: all or none.
    func save(_ records: [RenewalRecord]) async throws

    func remove(keys: [String]) async throws

    /// The end of the server's `Retry-After`; `nil` without one.
    func pauseEnd() async throws -> Date?

    func savePauseEnd(_ date: Date?) async throws
}

extension RenewalStore {
    public func records(of keys: [String]) async throws -> [RenewalRecord] {
        let wanted = Set(keys.map(AssetKey.init))
        return try await records().filter { wanted.contains(AssetKey($0.key)) }
    }

    public func keys(notHeardSince date: Date) async throws -> [String] {
        try await records().filter { $0.lastHeard < date }.map(\.key)
    }
}

/// Records that end with the process, for previews and tests.
public actor InMemoryRenewalStore: RenewalStore {
    private var recordsByKey: [AssetKey: RenewalRecord] = [:]
    private var pause: Date?

    public init() {}

    public func records() -> [RenewalRecord] { Array(recordsByKey.values) }

    public func records(of keys: [String]) -> [RenewalRecord] { keys.compactMap { recordsByKey[AssetKey($0)] } }

    public func save(_ records: [RenewalRecord]) {
        for record in records { recordsByKey[AssetKey(record.key)] = record }
    }

    public func remove(keys: [String]) {
        for key in keys { recordsByKey[AssetKey(key)] = nil }
    }

    public func pauseEnd() -> Date? { pause }

    public func savePauseEnd(_ date: Date?) { pause = date }
}

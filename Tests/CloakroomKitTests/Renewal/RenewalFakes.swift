import CloakroomAWS
import Foundation

@testable import CloakroomKit

/// A server whose answers the test gives.
actor ScriptedRenewer: AssetRenewer {
    typealias RenewalScript = @Sendable ([String]) async throws -> [RenewalResult]

    private var respond: RenewalScript
    private(set) var batches: [[String]] = []
    private var inFlight = 0
    private(set) var mostInFlight = 0

    init(
        _ respond: @escaping RenewalScript = { keys in
            keys.map { RenewalResult(key: $0, outcome: .renewed(expiration: nil)) }
        }
    ) {
        self.respond = respond
    }

    func renewAssets(keys: [String]) async throws -> [RenewalResult] {
        batches.append(keys)
        inFlight += 1
        mostInFlight = max(mostInFlight, inFlight)
        defer { inFlight -= 1 }
        return try await respond(keys)
    }

    /// From now on.
    func respond(_ respond: @escaping RenewalScript) { self.respond = respond }

    /// - Returns: the batches since this was asked last.
    func takeBatches() -> [[String]] {
        defer { batches = [] }
        return batches
    }
}

/// Hears of expired and renewed assets, and does nothing about them.
actor RecordingRecovery: ExpiredAssetRecoveryHandler {
    struct Expired: Equatable {
        var asset: RenewableAsset
        var key: String
        var date: Date
    }

    private(set) var expired: [Expired] = []
    private(set) var renewed: [RenewableAsset] = []
    private(set) var resumptions = 0

    func resumeRecoveries() { resumptions += 1 }

    func handleExpiredAsset(_ asset: RenewableAsset, key: String, at date: Date) -> RecoveryOutcome {
        expired.append(Expired(asset: asset, key: key, date: date))
        return .awaitingConfirmation(since: date)
    }

    func handleRenewedAssets(_ assets: [RenewableAsset], at date: Date) { renewed += assets }
}

/// A store whose disk is full when the test says so.
actor FailingRenewalStore: RenewalStore {
    private let store = InMemoryRenewalStore()
    private var error: CloakroomError?

    func fail(_ error: CloakroomError?) { self.error = error }
    func records() async throws -> [RenewalRecord] { await store.records() }
    func pauseEnd() async throws -> Date? { await store.pauseEnd() }

    func save(_ records: [RenewalRecord]) async throws {
        if let error { throw error }
        await store.save(records)
    }

    func remove(keys: [String]) async throws {
        if let error { throw error }
        await store.remove(keys: keys)
    }

    func savePauseEnd(_ date: Date?) async throws {
        if let error { throw error }
        await store.savePauseEnd(date)
    }
}

/// An app with its assets, whose launches are days apart.
struct RenewalFixture {
    let fake = FakeRuntime()
    let renewer = ScriptedRenewer()
    let recovery = RecordingRecovery()
    var store: any RenewalStore = InMemoryRenewalStore()
    var settings = AssetRenewalSettings()

    /// As one launch of the app has it.
    func manager(_ assets: [RenewableAsset]) throws -> AssetRenewalManager {
        try manager(AssetCollection(assets))
    }

    func manager(_ collector: any AssetRenewalURLCollector) throws -> AssetRenewalManager {
        AssetRenewalManager(
            renewer: renewer, collector: collector, store: store, recovery: recovery,
            baseURLs: try AssetBaseURLs([URL(string: "https://cdn.example.com")!]), settings: settings,
            runtime: fake.runtime)
    }

    func records() async throws -> [RenewalRecord] {
        try await store.records().sorted { $0.key < $1.key }
    }

    /// Renewed just now, and never failed since.
    func fresh(_ key: String, expiration: Date? = nil) -> RenewalRecord {
        RenewalRecord(key: key, lastRenewed: fake.wallTime, expiration: expiration)
    }
}

/// The group image of one object.
func image(_ key: String, of conversation: String = "c") -> RenewableAsset {
    .groupImage(url: URL(string: "https://cdn.example.com/\(key)")!, conversationID: conversation)
}

func images(_ count: Int) -> [RenewableAsset] { (0..<count).map { image(String(format: "%05d.bin", $0)) } }

/// What the server says of keys, by default that they are renewed.
func results(
    _ keys: [String], _ outcomes: [String: RenewalResult.Outcome] = [:],
    otherwise outcome: RenewalResult.Outcome = .renewed(expiration: nil)
) -> [RenewalResult] {
    keys.map { RenewalResult(key: $0, outcome: outcomes[$0] ?? outcome) }
}

extension Duration {
    static func days(_ count: Double) -> Duration { .seconds(count * 86_400) }
}

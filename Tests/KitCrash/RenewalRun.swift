import CloakroomAWS
import CloakroomKit
import Foundation

extension KitCrash {
    /// One launch of an app: what was left unfinished, a renewal in batches of ten, and what that finds gone.
    static func runRenewal(in folder: Folder) async throws {
        let runtime = RuntimeDependencies(wallClock: { [date = folder.date] in date })
        let file = folder.url.appendingPathComponent("renewals.sqlite")
        let store = MortalStore(store: try SQLiteRenewalStore(at: file, owner: folder.owner), points: folder.points)
        let journal = try SQLiteRecoveryJournal(
            at: folder.url.appendingPathComponent("recoveries.sqlite"), owner: folder.owner)
        let recovery = AssetRecovery(
            uploader: folder, cache: folder, urls: folder,
            journal: MortalJournal(journal: journal, points: folder.points), renewals: store,
            runtime: runtime)
        let manager = AssetRenewalManager(
            renewer: folder, collector: AssetCollection { try await folder.assets() }, store: store,
            recovery: recovery, baseURLs: try AssetBaseURLs([URL(string: "https://cdn.example")!]),
            settings: AssetRenewalSettings(batchSize: 10), runtime: runtime)
        print(await manager.renewIfNeeded())
    }
}

/// A store that may be the last thing that was written.
struct MortalStore: RenewalStore {
    let store: any RenewalStore
    let points: KillPoints

    func records() async throws -> [RenewalRecord] { try await store.records() }
    func pauseEnd() async throws -> Date? { try await store.pauseEnd() }

    func save(_ records: [RenewalRecord]) async throws {
        await points.cross()
        try await store.save(records)
        await points.cross()
    }

    func remove(keys: [String]) async throws {
        await points.cross()
        try await store.remove(keys: keys)
        await points.cross()
    }

    func savePauseEnd(_ date: Date?) async throws {
        await points.cross()
        try await store.savePauseEnd(date)
        await points.cross()
    }
}

import CloakroomAWS
import CloakroomKit
import Foundation

extension KitCrash {
    /// One launch of an app: what was left unfinished, then what a renewal finds gone.
    static func runRecovery(in folder: Folder) async throws {
        let date = folder.date
        let journal = try SQLiteRecoveryJournal(
            at: folder.url.appendingPathComponent("recoveries.sqlite"), owner: folder.owner)
        let recovery = AssetRecovery(
            uploader: folder, cache: folder, urls: folder,
            journal: MortalJournal(journal: journal, points: folder.points),
            runtime: RuntimeDependencies(wallClock: { date }))
        for report in try await recovery.resume() { print("resumed \(report.key): \(report.outcome)") }
        for asset in try await folder.assets() {
            let key = asset.url.lastPathComponent
            if folder.hasObject(key) {
                await recovery.handleRenewedAssets([asset], at: date)
            } else {
                print("\(key): \(await recovery.handleExpiredAsset(asset, key: key, at: date))")
            }
        }
    }
}

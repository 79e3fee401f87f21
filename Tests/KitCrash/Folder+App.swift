import CloakroomKit
import Foundation

/// The app's side of a recovery.
extension Folder: AssetCache, AssetURLWriter {
    func cachedContent(for asset: RenewableAsset) -> UploadContent? {
        let file = url.appendingPathComponent("cache/\(asset.name)")
        return (try? Data(contentsOf: file)).map { UploadContent($0, contentType: "application/octet-stream") }
    }

    func replaceURL(of asset: RenewableAsset, with newURL: URL) async throws -> Bool {
        await points.cross()
        if try database().urls[asset.name] == asset.url {
            try change {
                $0.urls[asset.name] = newURL
                $0.writes[asset.name, default: []].append(newURL.absoluteString)
            }
        }
        await points.cross()
        return try database().urls[asset.name] == newURL
    }

    func clearURL(of asset: RenewableAsset) async throws {
        await points.cross()
        if try database().urls[asset.name] == asset.url {
            try change {
                $0.urls[asset.name] = nil
                $0.writes[asset.name, default: []].append("cleared")
            }
        }
        await points.cross()
    }

    /// What the app would have renewed now.
    func assets() throws -> [RenewableAsset] {
        try database().urls.sorted { $0.key < $1.key }.map { name, url in
            name == "avatar"
                ? .profileAvatar(url: url, conversationID: name, inboxID: "me")
                : .groupImage(url: url, conversationID: name)
        }
    }
}

extension RenewableAsset {
    /// The conversation, for there is one image in each.
    fileprivate var name: String {
        switch self {
        case .profileAvatar(_, let conversation, _), .groupImage(_, let conversation): conversation
        case .other(let id, _): id
        }
    }
}

/// A journal that may be the last thing that was written.
struct MortalJournal: RecoveryJournal {
    let journal: any RecoveryJournal
    let points: KillPoints

    func records() async throws -> [RecoveryRecord] { try await journal.records() }
    func record(of asset: RenewableAsset) async throws -> RecoveryRecord? { try await journal.record(of: asset) }

    func write(_ record: RecoveryRecord) async throws {
        await points.cross()
        try await journal.write(record)
        await points.cross()
    }

    func remove(_ asset: RenewableAsset) async throws {
        await points.cross()
        try await journal.remove(asset)
        await points.cross()
    }
}

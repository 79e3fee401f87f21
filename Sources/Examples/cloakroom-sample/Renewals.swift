import CloakroomKit
import Foundation

/// Renews uploaded images.
struct Renewals {
    let manager: AssetRenewalManager

    /// - Parameter urls: of the images to renew.
    init(_ account: Account, _ client: CloakroomClient, _ folder: URL, _ urls: [URL]) throws {
        manager = AssetRenewalManager(
            renewer: client, collector: AssetCollection(urls.map(Self.asset)),
            store: try SQLiteRenewalStore(at: folder.appendingPathComponent("renewals.sqlite"), owner: account.owner),
            baseURLs: try AssetBaseURLs(Array(Set(urls.map { $0.deletingLastPathComponent() }))))
    }

    /// An app knows whose picture it is.
    static let conversationID = "sample"
    private static func asset(_ url: URL) -> RenewableAsset { .groupImage(url: url, conversationID: conversationID) }
}

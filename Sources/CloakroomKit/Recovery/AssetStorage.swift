public import Foundation

// What recovery needs of the app: its cache of images, and its database.

/// The app's cache of images, which recovery reads.
public protocol AssetCache: Sendable {
    /// The bytes of an asset exactly as they were uploaded: encrypted, if the app encrypts, because the keys that its
    /// database has for them stay the same.
    ///
    /// - Returns: `nil` when the cache certainly has none; that lets the asset's URL be cleared on another day.
    /// - Throws: when that is not known now, such as while the device is locked: nothing is decided then.
    func cachedContent(for asset: RenewableAsset) async throws -> UploadContent?
}

/// The app's database, as recovery writes to it.
///
/// Both calls change an asset only while its URL is still `asset.url`, in one transaction, and both may come again after
/// they were done:
///
/// ```sql
/// UPDATE groups SET imageURL = :new WHERE conversationID = :id AND imageURL = :old
/// ```
public protocol AssetURLWriter: Sendable {
    /// - Returns: whether `newURL` is the asset's now, by this call or an earlier one; `false` when the asset is gone, or
    ///   the app has given it another URL.
    func replaceURL(of asset: RenewableAsset, with newURL: URL) async throws -> Bool

    /// Removes the URL, and what belongs to the lost object, so that a placeholder is shown.
    func clearURL(of asset: RenewableAsset) async throws
}

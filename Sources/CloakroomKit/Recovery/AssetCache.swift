/// The app's cache of images, which recovery reads.
public protocol AssetCache: Sendable {
    /// The bytes of an asset exactly as they were uploaded: encrypted, if the app encrypts, because the keys that its
    /// database has for them stay the same.
    ///
    /// - Returns: `nil` when the cache certainly has none; that lets the asset's URL be cleared on another day.
    /// - Throws: when that is not known now, such as while the device is locked: nothing is decided then.
    func cachedContent(for asset: RenewableAsset) async throws -> UploadContent?
}

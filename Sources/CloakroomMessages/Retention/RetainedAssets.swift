public import CloakroomKit

/// The app's images without those whose messages have all ended: they are not renewed, and so not recovered.
///
/// Images that no message ever had, such as avatars, are passed. So are those that only other participants have named,
/// unless their keys begin as those of images for chats: a peer cannot end what this user renews.
///
/// ```swift
/// let collector = RetainedAssets(database, retention: retention, baseURLs: baseURLs)
/// ```
public struct RetainedAssets: AssetRenewalURLCollector {
    private let collector: any AssetRenewalURLCollector
    private let retention: MessageRetention
    private let baseURLs: AssetBaseURLs

    /// - Parameters:
    ///   - collector: the app's.
    ///   - baseURLs: as the ``AssetRenewalManager`` has them.
    public init(
        _ collector: any AssetRenewalURLCollector, retention: MessageRetention, baseURLs: AssetBaseURLs
    ) {
        self.collector = collector
        self.retention = retention
        self.baseURLs = baseURLs
    }

    public func renewableAssets() async throws -> [RenewableAsset] { try await renewableAssetBatches().all() }

    public func renewableAssetBatches() async throws -> AssetBatches {
        try await collector.renewableAssetBatches().filter { [retention, baseURLs] asset in
            guard let key = asset.key(in: baseURLs) else { return true }
            return try await !retention.hasEnded(assetKey: key)
        }
    }
}

/// The app's cache without what it has of images whose messages have all ended: a recovery must not bring them back.
public struct RetainedAssetCache: AssetCache {
    private let cache: any AssetCache
    private let retention: MessageRetention
    private let baseURLs: AssetBaseURLs

    /// - Parameter cache: the app's.
    public init(_ cache: any AssetCache, retention: MessageRetention, baseURLs: AssetBaseURLs) {
        self.cache = cache
        self.retention = retention
        self.baseURLs = baseURLs
    }

    public func cachedContent(for asset: RenewableAsset) async throws -> UploadContent? {
        if let key = asset.key(in: baseURLs), try await retention.hasEnded(assetKey: key) { return nil }
        return try await cache.cachedContent(for: asset)
    }
}

extension MessageRetention {
    /// Whether an image was one of messages, and no message has it any more.
    ///
    /// Other participants' messages count for images that were uploaded for chats alone: see
    /// ``MessageRetention/init(of:storage:limits:client:handlers:recoveries:cache:releaser:chatKeyPrefix:)``.
    public func hasEnded(assetKey: String) async throws -> Bool {
        try await storage.hasEnded(assetKey: assetKey)
    }
}

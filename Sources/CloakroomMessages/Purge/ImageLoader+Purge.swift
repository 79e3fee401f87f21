public import CloakroomKit

/// A purge removes images from the cache of an ``ImageLoader``; whether they are loaded again is for its `hasEnded`.
extension ImageLoader: PurgeableAssetCache {
    public func removeCachedContent(forKey key: String) { remove(objectKeys: [key]) }
}

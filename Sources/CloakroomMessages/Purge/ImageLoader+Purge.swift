public import CloakroomKit

/// A purge removes images from the cache of an ``ImageLoader``, which does not load them again.
extension ImageLoader: PurgeableAssetCache {
    public func removeCachedContent(forKey key: String) { discard(objectKeys: [key]) }
}

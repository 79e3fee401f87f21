public import CloakroomKit

/// A purge removes images from the cache of an ``ImageLoader``; whether they are loaded again is for its `hasEnded`. It finds
/// those of URLs below the loader's base URLs: of others the object is not known, so show no image of a message from elsewhere.
extension ImageLoader: PurgeableAssetCache {
    public func removeCachedContent(forKey key: String) { remove(objectKeys: [key]) }
}

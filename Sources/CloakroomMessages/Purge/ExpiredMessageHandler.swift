/// Removes what an app keeps of messages elsewhere: notifications, entries of Spotlight, drafts.
///
/// It is called before messages are purged, and again with the same ones when the process ended meanwhile or when it
/// threw. While it throws, the messages stay hidden and their keys go all the same. Messages that are lost with their keys,
/// or with a damaged database whose rows can be read, are purged, too.
public protocol ExpiredMessageHandler: Sendable {
    /// - Parameter messages: those that are over; also those that this handler removed before.
    func remove(_ messages: [MessageReference]) async throws
}

/// An app's cache of images, as a purge writes to it.
public protocol PurgeableAssetCache: Sendable {
    /// Removes what is cached of an object; nothing when there is nothing.
    func removeCachedContent(forKey key: String) async throws
}

/// What an ``ImageLoader`` keeps, and for how long.
public struct ImageLoaderSettings: Sendable, Equatable {
    /// Of all cached images together; the least recently shown ones are removed first.
    public var maximumCacheBytes: Int64
    /// A longer image is ``CloakroomError/Code/bodyTooLarge``.
    public var maximumImageBytes: Int
    /// How long no second request is sent for an image that S3 or the CDN refused, or did not have.
    public var failureInterval: Duration

    public init(
        maximumCacheBytes: Int64 = 256 << 20, maximumImageBytes: Int = 32 << 20,
        failureInterval: Duration = .seconds(60)
    ) {
        self.maximumCacheBytes = maximumCacheBytes
        self.maximumImageBytes = maximumImageBytes
        self.failureInterval = failureInterval
    }
}

extension ImageLoader {
    /// Has images released by another releaser, such as a ``CloakroomClient``, and discards them here first.
    ///
    /// ```swift
    /// let releaser = images.releasing(by: client)
    /// ```
    public nonisolated func releasing(by releaser: any ImageReleaser) -> some ImageReleaser {
        DiscardingReleaser(images: self, releaser: releaser)
    }
}

/// What is to be deleted from the bucket is not shown here any more, whatever the server says.
private struct DiscardingReleaser: ImageReleaser {
    let images: ImageLoader
    let releaser: any ImageReleaser

    func release(_ images: [ImageRelease]) async throws -> [ImageReleaseResult] {
        await self.images.discard(objectKeys: images.map(\.objectKey))
        return try await releaser.release(images)
    }
}

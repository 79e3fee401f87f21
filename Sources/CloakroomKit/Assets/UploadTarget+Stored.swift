extension UploadTarget {
    /// Whether S3 has the object, after an upload that had no response, once the URL has ended.
    ///
    /// The worker does not say it of an image of a chat: if there is one, it is released, and so not stored.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unavailable`` when it cannot be known now; what the request
    ///   throws.
    func isStored(by worker: any AssetRenewer) async throws -> Bool {
        guard let releaseToken, let releaser = worker as? any ImageReleaser else {
            return try await worker.hasObject(objectKey)
        }
        try await releaser.remove(ImageRelease(objectKey: objectKey, releaseToken: releaseToken))
        return false
    }
}

extension AssetRenewer {
    /// Whether there is an object of this key, and for this user: S3 renews no other.
    func hasObject(_ key: String) async throws -> Bool {
        switch BatchResponse(try await renewAssets(keys: [key]))[AssetKey(key)] {
        case .renewed: return true
        case .notFound, .refused: return false
        case .failed(let reason):
            throw CloakroomError(.unavailable, "whether \(key) was stored is not known: \(reason)")
        }
    }
}

extension ImageReleaser {
    fileprivate func remove(_ image: ImageRelease) async throws {
        switch try await release([image]).first?.outcome {
        // What is refused ends by the bucket's rule.
        case .released?, .refused?: break
        case .failed(let reason)?:
            throw CloakroomError(.unavailable, "\(image.objectKey) cannot be released now: \(reason)")
        case nil:
            throw CloakroomError(.invalidResponse, "the worker does not say whether \(image.objectKey) was released")
        }
    }
}

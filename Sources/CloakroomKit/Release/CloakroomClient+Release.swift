import CloakroomWire
import Foundation

extension CloakroomClient: ImageReleaser {
    /// Has images of chats deleted before their time; repeating it does no harm.
    ///
    /// The user has to be signed in as when they were uploaded.
    ///
    /// - Parameter images: 1…100; other counts are `invalidRequest`, without a request.
    /// - Returns: one result for each image that the server said something of, in their order.
    /// - Throws: ``CloakroomError``: `chatNotEnabled` where the operator has set up no images of chats, or no longer has:
    ///   then the bucket's rule ends them; `notFound` from a worker that is older than releases.
    public func release(_ images: [ImageRelease]) async throws -> [ImageReleaseResult] {
        guard (1...WireLimits.maximumKeysPerRequest).contains(images.count) else {
            throw CloakroomError(.invalidRequest, "A release is of 1 to \(WireLimits.maximumKeysPerRequest) images")
        }
        let requestBody = ReleaseBatchRequest(
            images: images.map { ReleaseItem(key: $0.objectKey, releaseToken: $0.releaseToken) })
        let response = try await httpClient.response(
            to: WorkerRequest(route: .releaseBatch, body: requestBody.encoded))
        // What is taken for released is not sent again: only a 200 counts as a result.
        guard response.status == 200 else { throw CloakroomError.invalidResponse(response) }
        let body: ReleaseBatchBody = try Self.read(response)
        return ImageReleaseResult.matched(body.results, to: images)
    }
}

extension ImageReleaseResult {
    /// Results come in the order of the request: one that is about another key there counts for nothing.
    fileprivate static func matched(_ results: [ReleaseResult], to images: [ImageRelease]) -> [ImageReleaseResult] {
        zip(images, results).compactMap { image, result in
            guard result.key.utf8.elementsEqual(image.objectKey.utf8) else { return nil }
            return ImageReleaseResult(objectKey: image.objectKey, outcome: Outcome(result))
        }
    }
}

extension ImageReleaseResult.Outcome {
    fileprivate init(_ result: ReleaseResult) {
        switch (result.success, result.error) {
        case (true, nil): self = .released(bytesGoneBy: result.bytesGoneBy)
        case (false, .forbidden?): self = .refused(reason: ReleaseErrorCode.forbidden.rawValue)
        case (false, let error?): self = .failed(reason: error.rawValue)
        case (false, nil): self = .failed(reason: ReleaseErrorCode.internalError.rawValue)
        case (true, _?): self = .failed(reason: "contradiction")
        }
    }
}

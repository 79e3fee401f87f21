import CloakroomWire
import Foundation

extension CloakroomClient: AssetRenewer {
    /// Restarts the retention of objects.
    ///
    /// - Parameter keys: 1…100; other counts are `invalidRequest`, without a request.
    /// - Returns: one result for each of the different keys that the server said something of, in their order. What is
    ///   ``RenewalResult/Outcome/notFound`` the server called so itself, in a response that was whole.
    public func renewAssets(keys: [String]) async throws -> [RenewalResult] {
        guard (1...WireLimits.maximumKeysPerRequest).contains(keys.count) else {
            throw CloakroomError(.invalidRequest, "A renewal is of 1 to \(WireLimits.maximumKeysPerRequest) keys")
        }
        let body: RenewBatchBody = try await renewalBody(
            of: WorkerRequest(route: .renewBatch, body: RenewBatchRequest(assetKeys: keys).encoded))
        return RenewalResult.matched(body.results, to: keys)
    }

    /// The same for one key.
    ///
    /// - Throws: also `invalidResponse` when the response is about another key.
    public func renewAsset(key: String) async throws -> RenewalResult {
        let body: RenewResult = try await renewalBody(
            of: WorkerRequest(route: .renewOne, body: RenewOneRequest(assetKey: key).encoded))
        guard let result = RenewalResult.matched([body], to: [key]).first else {
            throw CloakroomError(.invalidResponse, "The response is about another key", status: 200)
        }
        return result
    }

    /// Apps remove pictures by a renewal's result: only a 200 counts as one.
    private func renewalBody<Body: Decodable>(of request: WorkerRequest) async throws(CloakroomError) -> Body {
        let response = try await httpClient.response(to: request)
        guard response.status == 200 else { throw .invalidResponse(response) }
        return try Self.read(response)
    }
}

extension RenewalResult {
    /// One result for each of the different keys that the response says something of, in their order.
    static func matched(_ results: [RenewResult], to keys: [String]) -> [RenewalResult] {
        let response = BatchResponse(results.map { RenewalResult(key: $0.key, outcome: Outcome($0)) })
        var matched: Set<AssetKey> = []
        return keys.compactMap { key in
            guard let outcome = response.outcome(of: AssetKey(key)), matched.insert(AssetKey(key)).inserted else {
                return nil
            }
            return RenewalResult(key: key, outcome: outcome)
        }
    }
}

extension RenewalResult.Outcome {
    fileprivate init(_ result: RenewResult) {
        switch (result.success, result.error) {
        case (true, nil): self = .renewed(expiration: result.expiresAt)
        case (false, .notFound): self = .notFound
        case (false, let error?) where error != .internalError: self = .refused(reason: error.rawValue)
        case (false, _): self = .failed(reason: RenewalErrorCode.internalError.rawValue)
        case (true, _?): self = .failed(reason: "contradiction")
        }
    }
}

public import Foundation

/// What became of one key of a renewal.
public struct RenewalResult: Sendable, Equatable {
    public enum Outcome: Sendable, Equatable {
        /// Its retention starts anew; `expiration` where the server knows.
        case renewed(expiration: Date?)
        /// S3 itself said that there is no such object.
        case notFound
        /// It will fail in the same way next time: the key is none, archived, or not for this user.
        case refused(reason: String)
        /// Unknown; retry on another day.
        case failed(reason: String)
    }

    /// As it was sent.
    public var key: String
    public var outcome: Outcome

    public init(key: String, outcome: Outcome) {
        self.key = key
        self.outcome = outcome
    }
}

/// Renews objects: ``CloakroomClient``, or a test double.
public protocol AssetRenewer: Sendable {
    /// - Parameter keys: 1…100.
    /// - Returns: what the server said of them; perhaps not of each.
    func renewAssets(keys: [String]) async throws -> [RenewalResult]
}

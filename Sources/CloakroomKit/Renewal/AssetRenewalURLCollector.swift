/// Lists the assets to renew: usually a query of the app's database.
public protocol AssetRenewalURLCollector: Sendable {
    /// All of them: the user's own profile pictures, and those of the groups the user is a member of. Pictures of other
    /// people are renewed by their own apps.
    func renewableAssets() async throws -> [RenewableAsset]
}

/// Assets from a closure, or a given list of them.
public struct AssetCollection: AssetRenewalURLCollector {
    private let query: @Sendable () async throws -> [RenewableAsset]

    /// - Parameter query: run by each renewal.
    public init(_ query: @escaping @Sendable () async throws -> [RenewableAsset]) { self.query = query }

    public init(_ assets: [RenewableAsset]) { query = { assets } }

    public func renewableAssets() async throws -> [RenewableAsset] { try await query() }
}

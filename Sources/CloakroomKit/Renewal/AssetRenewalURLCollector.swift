/// Lists the assets to renew: usually a query of the app's database.
public protocol AssetRenewalURLCollector: Sendable {
    /// All of them: the user's own profile pictures, and those of the groups the user is a member of. Pictures of other
    /// people are renewed by their own apps.
    func renewableAssets() async throws -> [RenewableAsset]

    /// The same in batches, for a database with so many that they should not all be in memory; without it,
    /// ``renewableAssets()`` is one batch.
    ///
    /// An app that implements it gives ``renewableAssets()`` as `try await renewableAssetBatches().all()`.
    func renewableAssetBatches() async throws -> AssetBatches
}

extension AssetRenewalURLCollector {
    public func renewableAssetBatches() async throws -> AssetBatches { AssetBatches(try await renewableAssets()) }
}

/// Assets from a closure, or a given list of them.
public struct AssetCollection: AssetRenewalURLCollector {
    private let query: @Sendable () async throws -> AssetBatches

    /// - Parameter query: run by each renewal.
    public init(_ query: @escaping @Sendable () async throws -> [RenewableAsset]) {
        self.query = { AssetBatches(try await query()) }
    }

    public init(_ assets: [RenewableAsset]) { query = { AssetBatches(assets) } }

    /// - Parameter query: run by each renewal; its batches are read one after the other.
    public static func batches(
        _ query: @escaping @Sendable () async throws -> AssetBatches
    ) -> AssetCollection { AssetCollection(query: query) }

    private init(query: @escaping @Sendable () async throws -> AssetBatches) { self.query = query }

    public func renewableAssets() async throws -> [RenewableAsset] { try await query().all() }

    public func renewableAssetBatches() async throws -> AssetBatches { try await query() }
}

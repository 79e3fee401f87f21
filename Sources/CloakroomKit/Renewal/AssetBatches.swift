/// Assets that come a batch at a time, so that a database of any size is walked without being in memory.
///
/// ```swift
/// func renewableAssetBatches() -> AssetBatches { AssetBatches(of: database.images()) }
/// ```
///
/// A batch is read when the one before it has been handled; nothing of it is kept afterwards.
public struct AssetBatches: Sendable {
    private let walk: @Sendable (_ body: @escaping Body) async throws -> Void

    /// Handles one batch.
    public typealias Body = @Sendable (_ batch: [RenewableAsset]) async throws -> Void

    /// How many assets of a sequence become one batch.
    public static let defaultSize = 500

    /// One batch.
    public init(_ assets: [RenewableAsset]) { walk = { body in try await body(assets) } }

    /// The assets of a sequence, such as a cursor of a database.
    ///
    /// - Parameters:
    ///   - assets: a new iteration of it is begun for each walk. What came before its error is handed over first.
    ///   - size: of a batch; at least one.
    public init<Assets: AsyncSequence & Sendable>(of assets: Assets, size: Int = defaultSize)
    where Assets.Element == RenewableAsset {
        walk = { body in
            var batch: [RenewableAsset] = []
            do {
                for try await asset in assets {
                    batch.append(asset)
                    guard batch.count >= size else { continue }
                    let full = batch
                    batch = []
                    try await body(full)
                }
            } catch {
                // Of the sequence: after one of the body's, there is nothing left.
                if !batch.isEmpty { try await body(batch) }
                throw error
            }
            if !batch.isEmpty { try await body(batch) }
        }
    }

    /// Batches by pages of a query.
    ///
    /// - Parameter page: gives the page of a number, from 0; `nil` or an empty one is the end. Pages of one walk must not
    ///   shift: query by the last key of the page before, or in one transaction.
    public init(pages page: @escaping @Sendable (_ number: Int) async throws -> [RenewableAsset]?) {
        walk = { body in
            var number = 0
            while let batch = try await page(number), !batch.isEmpty {
                try await body(batch)
                number += 1
            }
        }
    }

    private init(walk: @escaping @Sendable (@escaping Body) async throws -> Void) { self.walk = walk }

    /// Hands over batch after batch, in order.
    ///
    /// - Throws: what the source or the body throws, which ends it.
    public func forEach(_ body: @escaping Body) async throws { try await walk(body) }

    /// The same without the assets that a closure leaves out.
    public func filter(_ isIncluded: @escaping @Sendable (RenewableAsset) async throws -> Bool) -> AssetBatches {
        AssetBatches(walk: { body in
            try await walk { batch in
                var included: [RenewableAsset] = []
                for asset in batch where try await isIncluded(asset) { included.append(asset) }
                try await body(included)
            }
        })
    }

    /// All of them at once.
    public func all() async throws -> [RenewableAsset] {
        let collected = Collected()
        try await forEach { await collected.append($0) }
        return await collected.assets
    }
}

private actor Collected {
    private(set) var assets: [RenewableAsset] = []

    func append(_ batch: [RenewableAsset]) { assets += batch }
}

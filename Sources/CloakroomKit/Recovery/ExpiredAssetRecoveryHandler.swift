public import Foundation

/// Receives what a renewal found out: ``AssetRecovery``, or the app's own.
public protocol ExpiredAssetRecoveryHandler: Sendable {
    /// Continues what an earlier launch left unfinished; to be called before assets are collected.
    func resumeRecoveries() async

    /// S3 said that the object of an asset is gone.
    ///
    /// - Parameters:
    ///   - key: of the object, as it was requested.
    ///   - date: of the response.
    @discardableResult
    func handleExpiredAsset(_ asset: RenewableAsset, key: String, at date: Date) async -> RecoveryOutcome

    /// The objects of these assets were renewed: earlier `notFound` results are discarded.
    func handleRenewedAssets(_ assets: [RenewableAsset], at date: Date) async
}

extension ExpiredAssetRecoveryHandler {
    public func resumeRecoveries() async {}
    public func handleRenewedAssets(_ assets: [RenewableAsset], at date: Date) async {}
}

public import Foundation

/// Who is told what a renewal found out: ``AssetRecovery``, or the app's own.
public protocol ExpiredAssetRecoveryHandler: Sendable {
    /// Goes on with what an earlier launch left unfinished; to be called before assets are collected.
    func resumeRecoveries() async

    /// S3 said that the object of an asset is gone.
    ///
    /// - Parameters:
    ///   - key: of the object, as it was asked for.
    ///   - date: of the response.
    @discardableResult
    func handleExpiredAsset(_ asset: RenewableAsset, key: String, at date: Date) async -> RecoveryOutcome

    /// The objects of these assets were renewed: whatever was held against them is void.
    func handleRenewedAssets(_ assets: [RenewableAsset], at date: Date) async
}

extension ExpiredAssetRecoveryHandler {
    public func resumeRecoveries() async {}
    public func handleRenewedAssets(_ assets: [RenewableAsset], at date: Date) async {}
}

public import Foundation

/// When one object is renewed next, and when it would expire.
public struct AssetSchedule: Sendable, Equatable {
    public var key: String
    /// Those that show this object.
    public var assets: [RenewableAsset]
    /// `nil` when the server never called it renewed.
    public var lastRenewed: Date?
    /// The next run after this renews it; never in the past.
    public var due: Date
    /// `nil` when the server did not say.
    public var expiration: Date?
    /// What went wrong since it was renewed last.
    public var failure: RenewalFailure?
}

public import Foundation

/// What became of an asset whose object is gone.
public enum RecoveryOutcome: Sendable, Equatable {
    /// Uploaded anew from the cache; the app's database has this URL now.
    case recovered(newURL: URL)
    /// The app had another URL for it by then. Nothing was written over; a new upload expires by itself.
    case superseded
    /// No bytes are cached. Its URL stays until S3 says on another day, too, that the object is gone.
    case awaitingConfirmation(since: Date)
    /// Nothing was cached on another day either: the app's database has no URL for it any more.
    case cleared
    /// Nothing is decided and nothing lost; recovery continues at the next launch.
    case postponed(CloakroomError)
}

/// What became of one asset at a launch.
public struct RecoveryReport: Sendable, Equatable {
    public var asset: RenewableAsset
    /// Of the object that is gone.
    public var key: String
    public var outcome: RecoveryOutcome

    public init(asset: RenewableAsset, key: String, outcome: RecoveryOutcome) {
        self.asset = asset
        self.key = key
        self.outcome = outcome
    }
}

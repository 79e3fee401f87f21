public import Foundation

/// What became of one run.
public struct RenewalReport: Sendable, Equatable {
    public enum End: Sendable, Equatable {
        /// Every key that was due was sent.
        case finished
        /// Until the end of the server's `Retry-After`; later runs honor it, too.
        case postponed(until: Date)
        /// ``RenewalReport/error`` says why; the rest is for another run.
        case stopped
    }

    public struct FailedKey: Sendable, Equatable {
        public var key: String
        /// The server's message, or the kit's.
        public var reason: String
    }

    public var end = End.finished
    /// What failed last that was not about single keys: a batch, the collection of assets, or the records of renewals.
    public var error: CloakroomError?

    /// How many assets the collector named.
    public var assets = 0
    /// How many of their URLs are outside the base URLs, and are skipped.
    public var assetsOutsideBaseURLs = 0
    /// How many of their URLs are under a base URL and have no key.
    public var assetsWithoutKey = 0
    /// How many keys were not due yet.
    public var notDue = 0

    public var requests = 0
    /// How many keys the server called renewed.
    public var renewed = 0
    /// Of these S3 said that there is no such object.
    public var notFound: [String] = []
    /// These will not be renewed next time, either, and are not sent for a day, then a week.
    public var refused: [FailedKey] = []
    /// The outcome of these is unknown; the next run retries them.
    public var failed: [FailedKey] = []
    /// How many keys were due and not sent.
    public var notSent = 0
    /// How many results could not be recorded. They are kept in memory, and recorded by the next run.
    public var unrecorded = 0

    public init() {}
}

extension RenewalReport {
    mutating func note(_ outcome: RenewalResult.Outcome, of key: AssetKey) {
        switch outcome {
        case .renewed: renewed += 1
        case .notFound: notFound.append(key.text)
        case .refused(let reason): refused.append(FailedKey(key: key.text, reason: reason))
        case .failed(let reason): failed.append(FailedKey(key: key.text, reason: reason))
        }
    }

    mutating func stop(_ error: CloakroomError) {
        self.error = error
        end = .stopped
    }
}

/// How far a run is.
public struct RenewalProgress: Sendable, Equatable {
    public var requestsDone: Int
    /// As far as it can be known now: after failures more may be needed.
    public var requestsExpected: Int
    public var keysDone: Int
    public var keys: Int
}

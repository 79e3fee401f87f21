public import Foundation

/// What is known of one key.
public struct RenewalRecord: Sendable, Equatable {
    public var key: String
    /// When the server last called it renewed, by the device's clock; `nil` when it never did.
    public var lastRenewed: Date?
    /// When its object would expire after that; `nil` when the server did not say.
    public var expiration: Date?
    /// What went wrong since then; `nil` when nothing did.
    public var failure: RenewalFailure?

    public init(key: String, lastRenewed: Date? = nil, expiration: Date? = nil, failure: RenewalFailure? = nil) {
        self.key = key
        self.lastRenewed = lastRenewed
        self.expiration = expiration
        self.failure = failure
    }
}

/// Why a key was not renewed, the last time, and how often in a row.
public struct RenewalFailure: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable {
        /// S3 said that there is no such object.
        case notFound
        /// The server said that it will fail in the same way next time.
        case refused
        /// The server could not say, or did not.
        case failed
        /// The response to its whole batch was an error, perhaps for another key of it.
        case batchFailed
    }

    public var kind: Kind
    /// The server's message.
    public var reason: String
    /// When it was so for the first time, in a row.
    public var first: Date
    /// When it was so for the last time.
    public var last: Date
    /// How often, in a row.
    public var count: Int

    public init(kind: Kind, reason: String, first: Date, last: Date, count: Int) {
        self.kind = kind
        self.reason = reason
        self.first = first
        self.last = last
        self.count = count
    }
}

extension RenewalRecord {
    mutating func note(_ outcome: RenewalResult.Outcome, at date: Date) {
        switch outcome {
        case .renewed(let expiration): noteRenewal(at: date, expiration: expiration)
        case .notFound: noteFailure(.notFound, "not_found", at: date)
        case .refused(let reason): noteFailure(.refused, reason, at: date)
        case .failed(let reason): noteFailure(.failed, reason, at: date)
        }
    }

    mutating func noteRenewal(at date: Date, expiration: Date?) {
        lastRenewed = date
        self.expiration = expiration
        failure = nil
    }

    mutating func noteFailure(_ kind: RenewalFailure.Kind, _ reason: String, at date: Date) {
        if var known = failure, known.kind == kind {
            known.reason = reason
            known.last = date
            known.count += 1
            failure = known
        } else {
            failure = RenewalFailure(kind: kind, reason: reason, first: date, last: date, count: 1)
        }
    }

    /// When the last response was about it.
    var lastHeard: Date { max(lastRenewed ?? .distantPast, failure?.last ?? .distantPast) }
}

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What became of one object that was to be renewed.
package struct Renewal: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
        /// Its life starts anew. The expiration is the bucket's lifecycle rule's, where S3 tells it.
        case renewed(expiration: Date?)
        /// It was written too recently to need it. The expiration is as above.
        case recentlyWritten(expiration: Date?)
        /// S3 said `NoSuchKey`; nothing else gives this outcome.
        case notFound
        /// In an archive tier: it must be restored first.
        case archived
        /// No object can have this key.
        case invalidKey
        /// This object cannot be renewed by us: encrypted with its owner's key, locked, metadata or tags that would be
        /// lost, …
        case unrenewable(code: String)
        /// S3 returned 403, for the worker's permissions or for the key's own: whether others can be renewed, tells.
        case accessDenied(code: String)
        /// S3 returned 400 or 405, or the request could not be sent; as above.
        case refused(code: String)
        /// The credentials, the bucket, its region or its KMS keys are not as the settings say: our alarm.
        case misconfigured(code: String)
        /// Still failing after retries; later it may not.
        case unavailable(retryAfter: Duration?, code: String)
    }

    package let outcome: Outcome
    package let counts: AttemptCounts

    package init(outcome: Outcome, counts: AttemptCounts) {
        self.outcome = outcome
        self.counts = counts
    }
}

extension Renewal.Outcome {
    init(_ fault: AWSError) {
        switch fault.kind {
        case .throttled, .transient, .noCredentials, .cancelled:
            self = .unavailable(retryAfter: fault.retryAfter, code: fault.code)
        case .staleCredentials, .skewedClock: self = .misconfigured(code: fault.code)
        case .refused:
            self =
                switch fault.status {
                case _ where fault.concernsAllKeys: .misconfigured(code: fault.code)
                case 403: .accessDenied(code: fault.code)
                case 400, 405: .refused(code: fault.code)
                case 0 where fault.code == AWSError.unsendable: .refused(code: fault.code)
                default: .misconfigured(code: fault.code)
                }
        }
    }
}

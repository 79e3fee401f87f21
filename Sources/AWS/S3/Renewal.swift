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
        case fresh(expiration: Date?)
        /// S3 said `NoSuchKey`; nothing else gives this outcome.
        case notFound
        /// In an archive tier: somebody must restore it first.
        case archived
        /// No object can have this key.
        case invalidKey
        /// This object cannot be renewed by us: encrypted with its owner's key, locked, metadata or tags that would be
        /// lost, …
        case unrenewable(code: String)
        /// S3 did not let us: our permissions, our alarm.
        case forbidden(code: String)
        /// The bucket, its region or its keys are not as the settings say: our alarm.
        case misconfigured(code: String)
        /// Still failing after retries; later it may not.
        case unavailable(retryAfter: Duration?, code: String)
    }

    package let outcome: Outcome
    package let effort: Effort

    package init(outcome: Outcome, effort: Effort) {
        self.outcome = outcome
        self.effort = effort
    }
}

extension Renewal.Outcome {
    init(_ fault: Fault) {
        switch fault.kind {
        case .throttled, .transient, .noCredentials, .cancelled:
            self = .unavailable(retryAfter: fault.retryAfter, code: fault.code)
        case .staleCredentials, .skewedClock, .refused:
            self = fault.status == 403 ? .forbidden(code: fault.code) : .misconfigured(code: fault.code)
        }
    }
}

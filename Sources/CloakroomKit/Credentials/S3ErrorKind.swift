package import Foundation

/// What a refusal means: a case for each thing to do about it.
package enum S3ErrorKind: Sendable, Equatable {
    /// The credentials have ended or are unknown: get others, try once more.
    case staleCredentials
    /// The presigned URL has ended, which says nothing of the credentials: get another one.
    case expiredURL
    /// The clocks differ, or, when these turn out to agree, the keys may be wrong.
    case skewedClock(theirs: Date?, mayBeWrongKeys: Bool)
    /// It is not allowed, today or tomorrow.
    case denied
    case throttled(retryAfter: Duration?)
    case transient(retryAfter: Duration?)
    /// The same request gets the same response, for another reason than a lack of rights.
    case refused
}

package import Foundation

/// What a refusal means: a case for each way to handle it.
package enum S3ErrorKind: Sendable, Equatable {
    /// The credentials have expired or are unknown: get others, retry once.
    case staleCredentials
    /// The presigned URL has expired, which says nothing about the credentials: request another one.
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

/// An error response, an unusable one, or none.
package struct AWSError: Error, Sendable, Equatable {
    /// What to do about it.
    package enum Kind: String, Sendable, CaseIterable {
        /// Slow down, then try again.
        case throttled
        /// Try again.
        case transient
        /// AWS no longer takes the credentials: get others, try once more.
        case staleCredentials
        /// Our clock and theirs differ too much: correct ours, try once more.
        case skewedClock
        /// The same request will get the same response.
        case refused
        /// There is nothing to sign with.
        case noCredentials
        case cancelled
    }

    package var kind: Kind
    /// 0 without a response.
    package var status: Int
    /// AWS's code; ours where there is no response.
    package var code: String
    /// AWS's `Retry-After`.
    package var retryAfter: Duration?

    package init(_ kind: Kind, status: Int = 0, code: String, retryAfter: Duration? = nil) {
        self.kind = kind
        self.status = status
        self.code = code
        self.retryAfter = retryAfter
    }
}

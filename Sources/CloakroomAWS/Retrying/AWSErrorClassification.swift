package import CloakroomHTTP

/// An error response, an unusable one, or none.
///
/// An object: each call that waits has room for several errors, and hardly one comes.
package final class AWSError: Error, Sendable, Equatable, CustomStringConvertible {
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

    package let kind: Kind
    /// 0 without a response.
    package let status: Int
    /// AWS's code; ours where there is no response.
    package let code: String
    /// AWS's `Retry-After`.
    package let retryAfter: Duration?

    package init(_ kind: Kind, status: Int = 0, code: String, retryAfter: Duration? = nil) {
        self.kind = kind
        self.status = status
        self.code = code
        self.retryAfter = retryAfter
    }

    /// The same, of which something else is to be done.
    func with(_ kind: Kind) -> AWSError { AWSError(kind, status: status, code: code, retryAfter: retryAfter) }

    package var description: String { status == 0 ? "\(kind): \(code)" : "\(kind): \(status) \(code)" }

    package static func == (left: AWSError, right: AWSError) -> Bool {
        left.kind == right.kind && left.status == right.status && left.code == right.code
            && left.retryAfter == right.retryAfter
    }
}

extension AWSError {
    /// Classifies an error response. By the code first: STS throttles with status 400.
    ///
    /// Source: botocore 1.44.5, `retries/standard.py`; S3 API Reference, "Error responses".
    convenience init(_ response: UpstreamResponse, error: AWSErrorResponse?) {
        let code = error.map { $0.isKMSAccessDenied ? Self.deniedByKMS : $0.code } ?? "Status\(response.status)"
        self.init(
            Self.kind(status: response.status, code: code), status: response.status, code: code,
            retryAfter: Self.retryAfter(response.fields))
    }

    convenience init(_ error: TransportError) {
        switch error {
        case .unreachable: self.init(.transient, code: "Unreachable")
        case .timeout: self.init(.transient, code: Self.timeout)
        case .interrupted: self.init(.transient, code: "Interrupted")
        case .tooLarge: self.init(.transient, code: "TooLarge")
        case .untrusted: self.init(.refused, code: "Untrusted")
        case .invalidRequest: self.init(.refused, code: Self.unsendable)
        case .cancelled: self.init(.cancelled, code: "Cancelled")
        case .notAllowedNow: self.init(.refused, code: "NotAllowedNow")
        }
    }

    /// Our code for a 403 that is KMS'.
    package static let deniedByKMS = "KMS.AccessDenied"
    /// The code of a request that the library does not send.
    package static let unsendable = "UnsendableRequest"
    private static let timeout = "Timeout"

    /// Whether one attempt had no response in time.
    var isTimeout: Bool { status == 0 && code == Self.timeout }

    /// Whether a refusal is of credentials, clock, account, bucket or a KMS key, so never of a single key.
    ///
    /// Source: S3 API Reference, "Error responses", and codes of KMS such as `KMS.DisabledException`.
    package var concernsAllKeys: Bool { Self.concernsAllKeys(code) }

    package static func concernsAllKeys(_ code: String) -> Bool {
        staleCredentials.contains(code) || skewedClock.contains(code) || ofBucket.contains(code)
            || code.hasPrefix("KMS")
    }

    private static let ofBucket: Set<String> = [
        "NoSuchBucket", "PermanentRedirect", "TemporaryRedirect", "Redirect", "AuthorizationHeaderMalformed",
        "IllegalLocationConstraintException", "InvalidBucketName", "InvalidBucketState", "AllAccessDisabled",
        "AccountProblem", "NotSignedUp", "InvalidPayer", "InvalidSecurity",
    ]

    /// Whether AWS' own code is of credentials that it does not take, also where that is a refusal for want of others. A wrong
    /// signature is no such code: what changes requests on their way causes it, too.
    package var refusesCredentials: Bool { Self.staleCredentials.contains(code) }

    package static func kind(status: Int, code: String) -> Kind {
        if throttles.contains(code) || status == 429 { return .throttled }
        if staleCredentials.contains(code) { return .staleCredentials }
        if skewedClock.contains(code) { return .skewedClock }
        if transients.contains(code) || [500, 502, 503, 504].contains(status) { return .transient }
        // A success whose body is an error or nothing we know: S3 broke off.
        if (200..<300).contains(status) { return .transient }
        return .refused
    }

    private static let throttles: Set<String> = [
        "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled", "RequestThrottledException",
        "TooManyRequestsException", "RequestLimitExceeded", "BandwidthLimitExceeded", "LimitExceededException",
        "SlowDown", "PriorRequestNotComplete", "EC2ThrottledException", "ProvisionedThroughputExceededException",
        "TransactionInProgressException",
    ]

    private static let transients: Set<String> = [
        "RequestTimeout", "RequestTimeoutException", "InternalError", "InternalErrors", "InternalFailure",
        "ServiceUnavailable", "OperationAborted", "ConditionalRequestConflict", "IDPCommunicationError",
    ]

    /// `InvalidAccessKeyId` too: credentials may have been rotated under us.
    private static let staleCredentials: Set<String> = [
        "ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired", "InvalidAccessKeyId",
        "InvalidClientTokenId", "UnrecognizedClientException",
    ]

    /// STS reports a skewed clock as a wrong signature; whether it was one, the `Date` field tells.
    private static let skewedClock: Set<String> = [
        "RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture", "SignatureDoesNotMatch",
        "InvalidSignatureException", "AuthFailure",
    ]

    /// Whether a fault that looks like a skewed clock comes from wrong keys when the clocks agree.
    package static func mayBeWrongKeys(code: String) -> Bool { wrongKeys.contains(code) }

    private static let wrongKeys: Set<String> = [
        "SignatureDoesNotMatch", "InvalidSignatureException", "AuthFailure",
    ]

    /// `x-amz-retry-after` is in milliseconds, `Retry-After` in seconds; one with a date is left alone.
    ///
    /// - Returns: an hour at most: our clients are told it, and no store is unreachable for years.
    package static func retryAfter(_ fields: HeaderFields) -> Duration? {
        let asked: Duration
        if let text = fields["x-amz-retry-after"], let milliseconds = UInt32(text) {
            asked = .milliseconds(Int64(milliseconds))
        } else {
            guard let text = fields["retry-after"], let seconds = UInt32(text) else { return nil }
            asked = .seconds(Int64(seconds))
        }
        return min(asked, .seconds(3600))
    }
}

/// What may go wrong between S3 and who asks it.
///
/// Sources: S3 API Reference, "Error responses", for codes and statuses (botocore's model, shape `Error`); for 200 with
/// an error, empty or cut: botocore `_handle_200_error`, aws-sdk-js `extractErrorFrom200Response`, aws-c-s3
/// `s3_meta_request.c`, apache/opendal#7294; HTML with 502 or 404 is what proxies in between answer.
package enum S3Fault: String, Sendable, CaseIterable {
    // Answers that say: again.
    case internalError, serviceUnavailable, slowDown, retryAfter, tooManyRequests, requestTimeout, conflict
    // From somebody in between.
    case badGateway, gatewayTimeout, pageNotFound, emptyNotFound
    // 200, and nothing has been done.
    case okWithError, okWithSlowDown, okEmpty, okHTML, okTruncated, okWithoutTag, okEntityBomb, okHuge
    // Done, and told badly.
    case leadingWhitespace, trailingWhitespace, resetAfterwards
    // The connection.
    case reset, hang, halfAnswer
    // Answers that say: not like this.
    case accessDenied, invalidObjectState, expiredToken, requestTimeTooSkewed, noSuchBucket, wrongRegion
    case permanentRedirect, temporaryRedirect, preconditionFailed, signatureDoesNotMatch, kmsDisabled

    /// The request is carried out first.
    var happensAfterwards: Bool {
        switch self {
        case .leadingWhitespace, .trailingWhitespace, .resetAfterwards: true
        default: false
        }
    }

    /// How often it comes in a mix, beside the others: what takes a timeout or 50 MB comes less often, and so does what
    /// asks for patience or makes a whole batch fail.
    var weight: Double {
        switch self {
        case .hang, .okHuge: 0.02
        case .slowDown, .okWithSlowDown, .tooManyRequests, .retryAfter: 0.2
        case .accessDenied, .noSuchBucket, .wrongRegion, .permanentRedirect, .temporaryRedirect, .pageNotFound,
            .emptyNotFound, .kmsDisabled, .signatureDoesNotMatch, .expiredToken, .requestTimeTooSkewed,
            .invalidObjectState, .preconditionFailed:
            0.1
        default: 1
        }
    }
}

import CloakroomAWS
import Testing

struct AWSErrorTests {
    @Test(arguments: [
        (503, "SlowDown", AWSError.Kind.throttled), (400, "Throttling", .throttled), (429, "Status429", .throttled),
        (400, "RequestLimitExceeded", .throttled), (500, "InternalError", .transient), (502, "Status502", .transient),
        (503, "ServiceUnavailable", .transient), (504, "Status504", .transient), (400, "RequestTimeout", .transient),
        (409, "OperationAborted", .transient), (409, "ConditionalRequestConflict", .transient),
        (200, "AccessDenied", .transient), (200, "Status200", .transient), (200, "SlowDown", .throttled),
        (400, "ExpiredToken", .staleCredentials), (403, "ExpiredTokenException", .staleCredentials),
        (403, "InvalidAccessKeyId", .staleCredentials), (403, "RequestTimeTooSkewed", .skewedClock),
        (403, "SignatureDoesNotMatch", .skewedClock), (403, "AccessDenied", .refused),
        (301, "PermanentRedirect", .refused),
        (400, "PackedPolicyTooLarge", .refused), (400, "MalformedPolicyDocument", .refused),
        (404, "NoSuchBucket", .refused), (501, "NotImplemented", .refused),
    ])
    func `is judged by code, then by status`(status: Int, code: String, kind: AWSError.Kind) {
        #expect(AWSError.kind(status: status, code: code) == kind)
    }
}

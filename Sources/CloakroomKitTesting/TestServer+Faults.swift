public import CloakroomKit

/// What goes wrong with a request.
public enum TestFault: Sendable, Equatable {
    /// A response with this status and code, and no effect: a code of the worker's, such as `unavailable` with 503, or of
    /// S3's, such as `InternalError` with 500.
    case response(status: Int, code: String)
    /// The connection breaks before the request has an effect.
    case connectionLostBefore
    /// The request has its effect, and the response is lost.
    case connectionLostAfter
    /// No network, or any other failure of the transport, without an effect.
    case transport(HTTPTransportError)
    /// 429 of the worker, 503 `SlowDown` of S3, with `Retry-After` in whole seconds.
    case rateLimit(retryAfter: Duration)
    /// The user's sessions are revoked just before the request; S3 does not mind sessions.
    case sessionRevoked
    /// The token that comes with the request ends just before it; S3 does not mind tokens.
    case tokenEnded
    /// The credentials that sign the request end just before it.
    case credentialsEnded
    /// The clock advances before the request has its effect; when that is longer than the request's timeout, it has none.
    case delay(Duration)
}

struct PlannedFault {
    let operation: TestOperation
    let keyPrefix: String
    /// Of requests that match, before the first that fails.
    var toPass: Int
    var times: Int
    let fault: TestFault
}

extension TestServer {
    /// Has some of the following requests fail.
    ///
    /// - Parameters:
    ///   - keyPrefix: only those about an object whose key begins so; empty for all.
    ///   - nth: the first one to fail, from 1, counted from now on.
    ///   - times: how many fail, one after the other; `Int.max` until ``clearFaults()``.
    public func fail(
        _ operation: TestOperation, keyPrefix: String = "", nth: Int = 1, times: Int = 1, with fault: TestFault
    ) {
        precondition(nth >= 1 && times >= 1, "the first request is number 1, and at least one fails")
        let planned = PlannedFault(
            operation: operation, keyPrefix: keyPrefix, toPass: nth - 1, times: times, fault: fault)
        state.withLock { $0.faults.append(planned) }
    }

    /// Nothing fails any more.
    public func clearFaults() { state.withLock { $0.faults = [] } }

    /// How many of the planned failures are still to come; 0 shows that a test met all it wanted.
    public var faultsToCome: Int {
        state.withLock { state in
            state.faults.reduce(0) { sum, fault in
                let (next, isTooMany) = sum.addingReportingOverflow(fault.times)
                return isTooMany ? .max : next
            }
        }
    }
}

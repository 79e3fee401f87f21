import CloakroomWire
import CloakroomHTTP

/// A response, and what the log should know of how it came about.
struct RouteResponse {
    var response: Response
    var user: String?
    /// What the client calls the session, for the log alone.
    var sessionName: String?
    /// Why it was refused, for the log alone.
    var reason: String?
    /// The limit that is told instead of the one by which the request was let in.
    var limited: Limited?
    /// What an error says; `nil` for what is none.
    private(set) var fault: Fault?
    /// Whether all that was counted for it is given back: an upstream was unavailable, and nothing was done.
    var isUnserved = false
    /// What happened with it, for those who want to know.
    var event: Event.Kind?

    /// A decision, and the terms that it was made by. An object, for hardly a response has one and all are copied.
    final class Limited: Sendable {
        let terms: RateLimitPolicy
        let decision: RateLimitDecision
        /// How long it took to make it.
        let nanoseconds: UInt64

        init(terms: RateLimitPolicy, decision: RateLimitDecision, nanoseconds: UInt64) {
            self.terms = terms
            self.decision = decision
            self.nanoseconds = nanoseconds
        }
    }

    /// For a wire that says it otherwise. An object, as ``Limited``.
    final class Fault: Sendable {
        let code: ErrorCode
        let body: ErrorBody
        /// `nil`: as the code says.
        let sts: STSErrorCode?

        init(_ code: ErrorCode, _ body: ErrorBody, sts: STSErrorCode? = nil) {
            self.code = code
            self.body = body
            self.sts = sts
        }
    }

    private static let fields: HeaderFields = ["Content-Type": "application/json", "Cache-Control": "no-store"]

    static func json(_ body: some WireBody, status: Int = 200) -> RouteResponse { json(body.encoded, status: status) }

    static func json(_ body: [UInt8], status: Int = 200) -> RouteResponse {
        RouteResponse(response: Response(status: status, fields: fields, body: body))
    }

    static func error(
        _ code: ErrorCode, _ sentence: String, reason: String? = nil, sts: STSErrorCode? = nil
    ) -> RouteResponse {
        error(Fault(code, ErrorBody(error: sentence, code: code), sts: sts), reason: reason)
    }

    private static func error(_ fault: Fault, reason: String?) -> RouteResponse {
        var answer = json(fault.body, status: fault.code.status)
        answer.reason = reason
        answer.fault = fault
        return answer
    }

    static let noSuchRoute = error(.notFound, "No such route")

    static let noMultipartUploads = error(
        .notFound, "Multipart uploads are not set up here", reason: "uploads.idKeys")

    static let chatNotEnabled = error(
        .chatNotEnabled, "Images of chats are not set up here", reason: "uploads.chatKeyPrefix")

    /// As nginx says it; the worker's own for an nginx whose files know no such route and pass everything on.
    static let notFromLocalNetwork = error(.forbidden, "Only for local networks", reason: "LOCAL_NETWORK")

    static let notJSON = error(.contentTypeNotAllowed, "Content-Type must be application/json")

    /// 401 and no more, or 503 where waiting may help; why is for the log.
    static func refused(_ refusal: IdentityRefusal) -> RouteResponse {
        let sts = STSErrorCode(refusal)
        guard refusal != .keysUnavailable else { return unavailable(reason: refusal.reason, sts: sts) }
        let sentence = refusal == .token(.missing) ? "Missing auth token" : "Invalid auth token"
        var answer = error(.unauthorized, sentence, reason: refusal.reason, sts: sts)
        answer.response.fields.add("WWW-Authenticate", "Bearer")
        return answer
    }

    /// 503; the client may come back.
    static func unavailable(
        retryAfter: Duration = .seconds(1), reason: String, sts: STSErrorCode? = nil
    ) -> RouteResponse {
        var answer = error(.unavailable, "Temporarily unavailable", reason: reason, sts: sts)
        answer.response.fields.add("Retry-After", String(max(1, (retryAfter.milliseconds + 999) / 1000)))
        return answer
    }

    /// 409; the body says which of the reasons it is.
    static func incomplete(_ fault: UploadCompletionRefusal) -> RouteResponse {
        let body = ErrorBody(error: fault.sentence, code: .uploadIncomplete, reason: fault.reason.rawValue)
        return error(Fault(.uploadIncomplete, body), reason: fault.reason.rawValue)
    }

    static func internalError(reason: String) -> RouteResponse {
        error(.internalError, "Internal error", reason: reason)
    }
}

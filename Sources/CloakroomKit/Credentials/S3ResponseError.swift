import CloakroomAWS
import Foundation
import CloakroomHTTP

/// A response of S3 that is an error, for ``CredentialProvider/withCredentials(refusal:_:)`` to evaluate.
///
/// Apps that use another S3 client make it from that client's error.
public struct S3ResponseError: Error, Sendable, Equatable {
    public var status: Int
    /// The `Code` of the error document, such as `ExpiredToken`; empty when there was no document.
    public var code: String
    public var message: String
    /// The `Date` field as received: it distinguishes a wrong clock from wrong keys.
    public var date: String?
    /// S3's `Retry-After`.
    public var retryAfter: Duration?
    private var isExpiredURL: Bool

    public init(status: Int, code: String, message: String = "", date: String? = nil, retryAfter: Duration? = nil) {
        self.status = status
        self.code = code
        self.message = message
        self.date = date
        self.retryAfter = retryAfter
        isExpiredURL = code == "AccessDenied" && AWSErrorResponse.isExpiredURL(message: message)
    }

    /// Reads the error document in the body of a response, if there is one.
    public init(_ response: HTTPResponse) {
        let document = response.body.count <= Self.longestDocument ? AWSErrorResponse(Array(response.body)) : nil
        self.init(
            status: response.status, code: document?.code ?? "", message: document?.message ?? "",
            date: response["Date"],
            retryAfter: AWSError.retryAfter(
                HeaderFields(
                    ["x-amz-retry-after", "retry-after"].compactMap { name in
                        response[name].map { HeaderFields.Field(name: name, value: $0) }
                    })))
        isExpiredURL = document?.isExpiredURL ?? false
    }

    private static let longestDocument = 64 << 10

    var kind: S3ErrorKind {
        if isExpiredURL { return .expiredURL }
        switch AWSError.kind(status: status, code: code) {
        case .throttled: return .throttled(retryAfter: retryAfter)
        case .transient: return .transient(retryAfter: retryAfter)
        case .staleCredentials: return .staleCredentials
        case .skewedClock: return .skewedClock(theirs: theirTime, mayBeWrongKeys: AWSError.mayBeWrongKeys(code: code))
        // Responses to HEAD have no document: expired credentials look like this (S3 API Reference, HeadObject).
        case .refused where status == 400 && code.isEmpty: return .staleCredentials
        case .refused, .noCredentials, .cancelled: return .refused
        }
    }

    private var theirTime: Date? { date.flatMap(Timestamp.init(http:))?.date }
}

extension S3ResponseError: CustomStringConvertible {
    /// Such as `400 ExpiredToken: The provided token has expired.`
    public var description: String {
        "\(status)" + (code.isEmpty ? "" : " \(code)") + (message.isEmpty ? "" : ": \(message)")
    }
}

/// What a refusal means: a case for each way to handle it.
enum S3ErrorKind: Equatable {
    /// The credentials have expired or are unknown: get others, retry once.
    case staleCredentials
    /// The presigned URL has expired, which says nothing about the credentials: request another one.
    case expiredURL
    /// The clocks differ, or, when these turn out to agree, the keys may be wrong.
    case skewedClock(theirs: Date?, mayBeWrongKeys: Bool)
    case throttled(retryAfter: Duration?)
    case transient(retryAfter: Duration?)
    /// The same request gets the same response, today or tomorrow.
    case refused
}

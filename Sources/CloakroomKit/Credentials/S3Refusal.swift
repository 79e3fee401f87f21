import AWS
import Foundation
import HTTPValues

/// An answer of S3 that is an error, for ``CredentialProvider/withCredentials(refusal:_:)`` to judge.
///
/// Apps that use another S3 client make it from that client's error.
public struct S3Refusal: Error, Sendable, Equatable {
    public var status: Int
    /// The `Code` of the error document, such as `ExpiredToken`; empty when there was no document.
    public var code: String
    public var message: String
    /// The `Date` field as it came: by it a wrong clock is told from wrong keys.
    public var date: String?
    /// How long S3 asks to be left alone.
    public var retryAfter: Duration?
    private var isEndedURL: Bool

    public init(status: Int, code: String, message: String = "", date: String? = nil, retryAfter: Duration? = nil) {
        self.status = status
        self.code = code
        self.message = message
        self.date = date
        self.retryAfter = retryAfter
        isEndedURL = code == "AccessDenied" && ErrorAnswer.isEndedURL(message: message)
    }

    /// Reads the error document in the body of an answer, if there is one.
    public init(_ answer: HTTPAnswer) {
        let document = answer.body.count <= Self.longestDocument ? ErrorAnswer(Array(answer.body)) : nil
        self.init(
            status: answer.status, code: document?.code ?? "", message: document?.message ?? "", date: answer["Date"],
            retryAfter: Fault.retryAfter(
                HeaderFields(
                    ["x-amz-retry-after", "retry-after"].compactMap { name in
                        answer[name].map { HeaderFields.Field(name: name, value: $0) }
                    })))
        isEndedURL = document?.isEndedURL ?? false
    }

    private static let longestDocument = 64 << 10

    package var verdict: S3Verdict {
        if isEndedURL { return .endedURL }
        switch Fault.kind(status: status, code: code) {
        case .throttled: return .throttled(retryAfter: retryAfter)
        case .transient: return .transient(retryAfter: retryAfter)
        case .staleCredentials: return .staleCredentials
        case .skewedClock: return .skewedClock(theirs: theirTime, mayBeWrongKeys: Fault.mayBeWrongKeys(code: code))
        // Answers to HEAD have no document: ended credentials look like this (S3 API Reference, HeadObject).
        case .refused where status == 400 && code.isEmpty: return .staleCredentials
        case .refused, .noCredentials, .cancelled: return status == 403 ? .denied : .refused
        }
    }

    private var theirTime: Date? { date.flatMap(Timestamp.init(http:))?.date }
}

extension S3Refusal: CustomStringConvertible {
    /// Such as `400 ExpiredToken: The provided token has expired.`
    public var description: String {
        "\(status)" + (code.isEmpty ? "" : " \(code)") + (message.isEmpty ? "" : ": \(message)")
    }
}

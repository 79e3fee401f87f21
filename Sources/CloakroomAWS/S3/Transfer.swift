package import CloakroomHTTP

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends a request that is signed here: for bodies and responses that are files, which this target knows nothing of.
package struct Transfer: Sendable {
    /// Sends the request with the body that belongs to it, and takes the body of a success; that of an error belongs into
    /// the response. Called for each attempt, with the time that it may take.
    ///
    /// Its errors are classified as S3's are: a transient one is retried.
    package typealias Sender =
        @Sendable (_ request: consuming UpstreamRequest, _ timeout: Duration) async throws(AWSError) -> UpstreamResponse

    package let timeout: Duration
    package let deadline: ContinuousClock.Instant
    package let send: Sender

    /// - Parameters:
    ///   - timeout: of one attempt.
    ///   - deadline: of all of them.
    package init(timeout: Duration, deadline: ContinuousClock.Instant, send: @escaping Sender) {
        self.timeout = timeout
        self.deadline = deadline
        self.send = send
    }
}

/// How S3 knows that a body arrived as it was sent.
///
/// The MD5 stands in `Content-MD5`, which is signed, so the signature covers the body through it and the body itself need
/// not be hashed a second time. S3 returns `BadDigest` for any other body.
package struct BodyDigest: Sendable, Equatable {
    /// 16 bytes.
    package let md5: [UInt8]

    package init(md5: [UInt8]) { self.md5 = md5 }

    var payloadHash: String { SigV4.unsignedPayload }
    var fields: HeaderFields { ["content-md5": Data(md5).base64EncodedString()] }
}

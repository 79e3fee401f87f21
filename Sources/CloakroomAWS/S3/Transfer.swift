package import CloakroomHTTP

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Who sends a request that is signed here: for bodies and answers that are files, which this target knows nothing of.
package struct Transfer: Sendable {
    /// Sends the request with the body that belongs to it, and takes the body of a success; that of an error belongs into
    /// the answer. Called for each try anew, with the time that one may take.
    ///
    /// Its faults are judged as S3's are: a transient one is followed by another try.
    package typealias Sender =
        @Sendable (_ request: consuming UpstreamRequest, _ timeout: Duration) async throws(AWSError) -> UpstreamResponse

    package let timeout: Duration
    package let deadline: ContinuousClock.Instant
    package let send: Sender

    /// - Parameters:
    ///   - timeout: of one try.
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
/// not be hashed a second time. S3 answers `BadDigest` to any other body.
package struct BodyDigest: Sendable, Equatable {
    /// 16 bytes.
    package let md5: [UInt8]

    package init(md5: [UInt8]) { self.md5 = md5 }

    var payloadHash: String { SigV4.unsignedPayload }
    var fields: HeaderFields { ["content-md5": Data(md5).base64EncodedString()] }
}

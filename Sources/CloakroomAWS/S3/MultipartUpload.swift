package import CloakroomHTTP

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One part that a client is to upload.
package struct PartTerms: Sendable, Equatable {
    /// From 1.
    package let number: Int
    /// Exactly so many.
    package let byteCount: Int

    package init(number: Int, byteCount: Int) {
        self.number = number
        self.byteCount = byteCount
    }
}

/// A part that S3 has.
package struct UploadedPart: Sendable, Equatable {
    package let number: Int
    /// With its quotation marks.
    package let entityTag: String
    package let byteCount: Int

    package init(number: Int, entityTag: String, byteCount: Int) {
        self.number = number
        self.entityTag = entityTag
        self.byteCount = byteCount
    }
}

/// What became of the parts.
package enum MultipartCompletion: Sendable, Equatable {
    case completed
    /// There is such an object already.
    case objectExists
    /// It was completed or aborted, or never begun.
    case noSuchUpload
    /// S3 lacks a part, or will not have it.
    case partsRefused(code: String)
}

/// One page of S3's response to ListParts.
struct PartPage {
    let parts: [UploadedPart]
    /// Where the next page begins; `nil` for the last.
    let nextMarker: Int?

    /// Source: S3 API Reference, "ListParts".
    init?(_ root: XMLElement) {
        guard root.hasName("ListPartsResult") else { return nil }
        var parts: [UploadedPart] = []
        for child in root.children where child.hasName("Part") {
            guard let number = child.text(of: "PartNumber").flatMap(StoredNumber.partNumber),
                let size = child.text(of: "Size").flatMap(StoredNumber.byteCount), let tag = child.text(of: "ETag"),
                !tag.isEmpty
            else { return nil }
            parts.append(UploadedPart(number: number, entityTag: tag, byteCount: size))
        }
        self.parts = parts
        guard root.text(of: "IsTruncated") == "true" else {
            nextMarker = nil
            return
        }
        guard let marker = root.text(of: "NextPartNumberMarker").flatMap(StoredNumber.partNumber) else { return nil }
        nextMarker = marker
    }
}

/// A multipart copy of an object onto itself.
///
/// Source: S3 API Reference, UploadPartCopy; Amazon S3 User Guide, "Multipart upload limits".
enum MultipartCopy {
    /// The largest that one CopyObject takes, in bytes.
    static let maximumSingleCopyBytes = 5 << 30
    /// Of a size that S3 copies well within one attempt's timeout, and never more of them than an upload may have.
    private static let preferredPartBytes = 256 << 20
    private static let maximumParts = StoredNumber.maximumParts
    /// The smallest that becomes a multipart copy when a single one is slow, and its parts: S3 refuses parts under
    /// 5 MiB but the last.
    static let minimumMultipartBytes = 16 << 20
    private static let minimumPartBytes = 8 << 20
    /// How many parts of one object are copied at once.
    static let concurrentParts = 16

    /// The parts of so many bytes, none larger than one UploadPartCopy may be.
    ///
    /// - Parameter byteCount: at most ``StoredNumber/maximumObjectBytes``.
    static func ranges(byteCount: Int) -> [ClosedRange<Int>] {
        let even = min(max((byteCount + concurrentParts - 1) / concurrentParts, minimumPartBytes), preferredPartBytes)
        let part = max(even, (byteCount + maximumParts - 1) / maximumParts)
        return stride(from: 0, to: byteCount, by: part).map { $0...min($0 + part, byteCount) - 1 }
    }

    /// - Returns: the part's entity tag; `nil` when the object is no longer the same or gone, or the upload is.
    static func copied(_ response: UpstreamResponse) throws(AWSError) -> String? {
        let root = try? XMLReader.read(response.body)
        if response.status == 200, let root, root.hasName("CopyPartResult"), let tag = root.text(of: "ETag"),
            !tag.isEmpty
        {
            return tag
        }
        let error = root.flatMap { AWSErrorResponse($0) }
        switch (response.status, error?.code) {
        case (412, "PreconditionFailed"), (404, "NoSuchKey"), (404, "NoSuchUpload"): return nil
        default: throw AWSError(response, error: error)
        }
    }
}

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

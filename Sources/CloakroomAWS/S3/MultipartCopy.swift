import CloakroomHTTP

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

import CloakroomWire

/// How an object is cut: all parts of one size, the last of what is left.
///
/// Source: Amazon S3 User Guide, "Multipart upload limits": 5 MiB to 5 GiB a part, the last may be smaller, at most
/// 10,000 of them.
struct MultipartLayout: Sendable, Equatable {
    /// Of the whole object; at least one.
    let byteCount: Int
    /// Of each part but the last.
    let partBytes: Int

    private static let mebibyte = 1 << 20
    /// A part that breaks off on a bad connection is not much to send again.
    private static let minimumPartBytes = 8 * mebibyte
    private static let maximumPartBytes = 5 << 30
    /// As many as S3 lists in one response; only objects beyond 5 TB have more.
    private static let wantedParts = 1000
    /// The largest object there can be, of 10,000 parts of 5 GiB.
    static let maximumBytes = 10_000 * maximumPartBytes

    /// - Precondition: 1 to ``maximumBytes``.
    init(byteCount: Int) {
        let wanted = (byteCount + Self.wantedParts - 1) / Self.wantedParts
        let rounded = (wanted + Self.mebibyte - 1) / Self.mebibyte * Self.mebibyte
        self.byteCount = byteCount
        partBytes = min(max(rounded, Self.minimumPartBytes), Self.maximumPartBytes)
    }

    /// One that was made before, perhaps by another version.
    ///
    /// - Returns: `nil` when S3 takes no such parts.
    init?(byteCount: Int, partBytes: Int) {
        guard (1...Self.maximumBytes).contains(byteCount), (5 << 20...Self.maximumPartBytes).contains(partBytes),
            (byteCount - 1) / partBytes < 10_000
        else { return nil }
        self.byteCount = byteCount
        self.partBytes = partBytes
    }

    var partCount: Int { (byteCount + partBytes - 1) / partBytes }

    /// - Parameter number: 1 to ``partCount``.
    func byteCount(ofPart number: Int) -> Int { min(partBytes, byteCount - (number - 1) * partBytes) }

    /// Which parts a client requests: `numbers=7` or `numbers=1-100`.
    func numbers(query: String) throws(UploadRules.Refusal) -> ClosedRange<Int> {
        guard let parameters = QueryParameters(query), parameters.names == ["numbers"],
            let text = parameters["numbers"]
        else { throw .partNumbers(count: partCount) }
        let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map {
            QueryParameters.integer($0)
        }
        guard let first = ends[0], let last = ends[ends.count - 1], first >= 1, first <= last, last <= partCount,
            last - first < WireLimits.maximumPartsPerRequest
        else { throw .partNumbers(count: partCount) }
        return first...last
    }
}

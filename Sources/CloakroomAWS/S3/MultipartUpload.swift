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

/// What is stored with a photo in S3, besides its bytes.
enum PhotoMetadata {
    /// In lower-case hexadecimal.
    static let sha256 = "sha256"

    static func contentType(ofFormat format: String) -> String { contentTypes[format] ?? "application/octet-stream" }

    /// Source: IANA, "Media Types"; those with `x-` are their makers' own.
    private static let contentTypes = [
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "heic": "image/heic", "heif": "image/heif",
        "avif": "image/avif", "gif": "image/gif", "webp": "image/webp", "tif": "image/tiff", "tiff": "image/tiff",
        "bmp": "image/bmp", "jxl": "image/jxl", "dng": "image/x-adobe-dng", "cr2": "image/x-canon-cr2",
        "cr3": "image/x-canon-cr3", "mp4": "video/mp4", "mov": "video/quicktime",
    ]
}

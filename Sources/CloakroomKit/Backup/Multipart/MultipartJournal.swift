/// Where multipart uploads are recorded, so that they continue after the app was ended.
///
/// Losing it costs time, never bytes: the upload begins anew, and S3's lifecycle rule removes the old parts.
public protocol MultipartJournal: Sendable {
    /// - Returns: the upload of this object that was begun and not completed.
    func upload(of key: String, in bucket: String) async throws -> MultipartUpload?
    /// Replaces the record of the same object.
    func save(_ upload: MultipartUpload) async throws
    func remove(_ upload: MultipartUpload) async throws
    /// All that were begun and not completed.
    func uploads() async throws -> [MultipartUpload]
}

/// A multipart upload that was begun.
public struct MultipartUpload: Sendable, Equatable {
    public let bucket: String
    public let key: String
    public let uploadID: String
    /// Of every part but the last, in bytes.
    public let partSize: Int
    /// What the file was: with other bytes the upload begins anew.
    public let file: FileVersion

    public init(bucket: String, key: String, uploadID: String, partSize: Int, file: FileVersion) {
        self.bucket = bucket
        self.key = key
        self.uploadID = uploadID
        self.partSize = partSize
        self.file = file
    }
}

/// How a file is known to be the same still.
public struct FileVersion: Sendable, Equatable {
    public let byteCount: Int64
    /// When it was last written, in nanoseconds since 1970.
    public let modified: Int64

    public init(byteCount: Int64, modified: Int64) {
        self.byteCount = byteCount
        self.modified = modified
    }
}

/// A journal that lasts as long as the process.
public actor InMemoryMultipartJournal: MultipartJournal {
    private struct BucketKey: Hashable {
        let bucket: String
        let key: String
    }

    private var noted: [BucketKey: MultipartUpload] = [:]

    public init() {}

    public func upload(of key: String, in bucket: String) -> MultipartUpload? {
        noted[BucketKey(bucket: bucket, key: key)]
    }

    public func save(_ upload: MultipartUpload) {
        noted[BucketKey(bucket: upload.bucket, key: upload.key)] = upload
    }

    public func remove(_ upload: MultipartUpload) {
        noted[BucketKey(bucket: upload.bucket, key: upload.key)] = nil
    }

    public func uploads() -> [MultipartUpload] { Array(noted.values) }
}

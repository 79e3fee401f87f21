import CloakroomAWS
public import Foundation

/// Reads parts of one object, such as a video that is played while it arrives.
///
/// All parts are of one object: when it is replaced between two reads, the next one throws
/// ``CloakroomError/Code/conditionFailed``, and a new reader is needed.
///
/// ```swift
/// let reader = RangeReader(client: s3, key: try layout.photo(md5: md5))
/// let info = try await reader.info()
/// let head = try await reader.read(0..<min(info.byteCount, 65_536))
/// ```
public actor RangeReader {
    /// How many bytes one read may have.
    public static let maximumBytes: Int64 = 8 << 20

    private let client: S3BackupClient
    private let key: String
    /// That all parts are of; `nil` until S3 has described it.
    private var object: StoredObject?

    /// - Parameter client: what it moves at once is bounded, by all its operations together; give it a transport for what
    ///   the user waits for.
    public init(client: S3BackupClient, key: String) {
        self.client = client
        self.key = key
    }

    /// The length, the type and the entity tag of the object: by one request, before the first read.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/noSuchObject`` when S3 says `NoSuchKey`.
    public func info() async throws -> ObjectInfo {
        guard let stored = if let object { object } else { try await client.stored(key) } else {
            throw S3BackupClient.noSuchObject(key)
        }
        guard let info = ObjectInfo(stored, key: key) else { throw S3BackupClient.unknownSize(key) }
        if object == nil { object = stored }
        return info
    }

    /// The bytes of a range: fewer at the end of the object, and none behind it.
    ///
    /// - Parameter range: in bytes from 0; of ``maximumBytes`` at most.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/invalidRequest`` for another range,
    ///   ``CloakroomError/Code/conditionFailed`` when the object was replaced,
    ///   ``CloakroomError/Code/noSuchObject`` when S3 says `NoSuchKey`.
    public func read(_ range: Range<Int64>) async throws -> Data {
        guard range.lowerBound >= 0, Int64(range.count) <= Self.maximumBytes else {
            throw CloakroomError(.invalidRequest, "a range has at most \(Self.maximumBytes) bytes, from 0")
        }
        let info = try await info()
        let end = min(range.upperBound, info.byteCount)
        guard range.lowerBound < end, let object else { return Data() }
        return try await client.bytes(range.lowerBound..<end, of: object, at: key)
    }
}

extension S3BackupClient {
    /// - Parameter range: inside the object, and not empty.
    fileprivate func bytes(_ range: Range<Int64>, of object: StoredObject, at key: String) async throws -> Data {
        try await performing("reading", key) { target in
            let read = ObjectRead(client: self, target: target, expected: object, maximumBytes: .max)
            return try await budget.spending(range.count) {
                Data(try await read.piece(at: range.lowerBound, range.count, of: object).body)
            }
        }
    }
}

import Foundation

extension S3BackupClient {
    /// Stores bytes for which the caller has reserved room in ``budget``: they were read before, for their MD5.
    func putWithinBudget(
        _ data: Data, md5: [UInt8], to key: String, metadata: [String: String], condition: ObjectCondition
    ) async throws {
        let request = try PutRequest("application/octet-stream", metadata, condition, md5: md5, nil)
        _ = try await performing("storing", key) { try await store(data, at: $0, request) }
    }
}

import Foundation

extension S3BackupClient {
    /// Stores bytes for which the caller has taken room in ``budget``: to be named by their MD5 they were read before.
    func putWithinBudget(
        _ data: Data, md5: [UInt8], to key: String, metadata: [String: String], condition: ObjectCondition
    ) async throws {
        let request = try PutRequest("application/octet-stream", metadata, condition, md5: md5, nil)
        _ = try await performing("storing", key) { try await store(data, at: $0, request) }
    }
}

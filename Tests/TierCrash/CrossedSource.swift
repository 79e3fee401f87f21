import CloakroomKit
import CloakroomTiers
import Foundation

/// An older store of photos where the process may end before and after each call.
struct CrossedSource: LegacyBlobSource {
    let source: BlobTableSource
    let points: KillPoints

    private func cross<Value: Sendable>(
        _ body: () async throws(CloakroomError) -> Value
    ) async throws(CloakroomError) -> Value {
        points.cross()
        let value = try await body()
        points.cross()
        return value
    }

    func count() async throws(CloakroomError) -> Int { try await source.count() }

    func blobs(after position: Int64?, limit: Int) async throws(CloakroomError) -> [LegacyBlob] {
        try await source.blobs(after: position, limit: limit)
    }

    func write(_ blob: LegacyBlob, to file: URL) async throws(CloakroomError) -> [UInt8] {
        try await cross { () async throws(CloakroomError) in try await source.write(blob, to: file) }
    }

    func delete(_ blobs: [(blob: LegacyBlob, sha256: [UInt8])]) async throws(CloakroomError) {
        try await cross { () async throws(CloakroomError) in try await source.delete(blobs) }
    }

    func compact() async throws(CloakroomError) -> LegacyCompaction {
        try await cross { () async throws(CloakroomError) in try await source.compact() }
    }
}

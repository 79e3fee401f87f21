import CloakroomKit
import CloakroomTiers
import Foundation

/// A source that fails once, before or after it has done something.
actor FailingSource: LegacyBlobSource {
    enum Step: String, Sendable, CaseIterable {
        case list, beforeWrite, afterWrite, beforeDelete, afterDelete, beforeCompact, afterCompact
    }

    private let source: BlobTableSource
    private let step: Step
    private var callsLeft: Int
    var hasFailed: Bool { callsLeft <= 0 }

    init(_ source: BlobTableSource, _ step: Step, atCall call: Int) {
        self.source = source
        self.step = step
        callsLeft = call
    }

    private func pass(_ step: Step) throws(CloakroomError) {
        guard step == self.step else { return }
        callsLeft -= 1
        if callsLeft == 0 { throw CloakroomError(.storeFailed, "failed at \(step)") }
    }

    func count() async throws(CloakroomError) -> Int { try await source.count() }

    func blobs(after position: Int64?, limit: Int) async throws(CloakroomError) -> [LegacyBlob] {
        try pass(.list)
        return try await source.blobs(after: position, limit: limit)
    }

    func write(_ blob: LegacyBlob, to file: URL) async throws(CloakroomError) -> [UInt8] {
        try pass(.beforeWrite)
        let sha256 = try await source.write(blob, to: file)
        try pass(.afterWrite)
        return sha256
    }

    func delete(_ blobs: [(blob: LegacyBlob, sha256: [UInt8])]) async throws(CloakroomError) {
        try pass(.beforeDelete)
        try await source.delete(blobs)
        try pass(.afterDelete)
    }

    func compact() async throws(CloakroomError) -> LegacyCompaction {
        try pass(.beforeCompact)
        let result = try await source.compact()
        try pass(.afterCompact)
        return result
    }
}

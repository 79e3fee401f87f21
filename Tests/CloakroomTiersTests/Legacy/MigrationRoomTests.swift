import CloakroomKit
import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Synchronization
import Testing

/// What a migration takes of the disk.
@Suite(.serialized) struct MigrationRoomTests {
    @Test func `beside what stays on the device not more than one batch is on the disk twice`() async throws {
        let peak = Peak()
        let fixture = try StoreFixture(gate: { _, _ in peak.measure() })
        let root = fixture.folder.deletingLastPathComponent()
        let table = try LegacyTable(in: root.appendingPathComponent("app"))
        let now = fixture.clock.now
        let (count, byteCount, batch) = (200, 150_000, Int64(3 << 20))
        // A twentieth is young.
        let all = try table.insert(count, byteCount: byteCount) { now - ($0 % 20 == 0 ? 1 : 60) * 86_400 }
        let before = LegacyTable.allocatedBytes(in: root)
        peak.begin(root)
        let report = try await fixture.store.migrate(
            from: try BlobTableSource(table.file), batchBytes: batch, progress: { _, _ in peak.measure() })
        #expect(report.remaining == 0 && report.stoppedBy == nil && !report.isCompactionPending)

        let usage = try await fixture.store.usage()
        #expect(usage.hotCount == count / 20)
        let extra = peak.bytes - before - usage.hotBytes - usage.catalogBytes
        // One batch, the photo that is being copied, and the logs of both databases.
        #expect(extra <= batch + 3 * Int64(byteCount) + 2 << 20, "\(extra) bytes")
        // It was measured while there was something to measure.
        #expect(extra > batch / 2, "\(extra) bytes")
        let after = LegacyTable.allocatedBytes(in: root)
        #expect(after <= usage.hotBytes + usage.catalogBytes + 1 << 20, "\(after) bytes")
        #expect(all.count == count)
    }
}

/// The most that a folder has taken of the disk.
private final class Peak: Sendable {
    private let state = Mutex<(folder: URL?, bytes: Int64)>((nil, 0))

    func begin(_ folder: URL) { state.withLock { $0 = (folder, 0) } }

    func measure() {
        state.withLock { state in
            guard let folder = state.folder else { return }
            state.bytes = max(state.bytes, LegacyTable.allocatedBytes(in: folder))
        }
    }

    var bytes: Int64 { state.withLock { $0.bytes } }
}

import CloakroomKit
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomMessages

/// Deletions that the database could not write, beside the keys.
@Suite struct KeyDeletionTests {
    private let device: KeyFixture

    init() throws { device = try KeyFixture() }

    @Test func `a deletion drops the keys of its conversation and is read by the next process`() async throws {
        let keys = try await device.begin([KeyFixture.kept, KeyFixture.dropped, KeyFixture.later])
        try await keys.rotate(now: .now)
        let files = try device.files()
        keys.delete(1, through: 42)
        keys.delete(1, through: 7)
        #expect(keys.rotationDelay(at: .now) == .zero)
        #expect(await keys.writeDeletions(now: .now))
        #expect(keys.rotationDelay(at: .now) == nil)
        #expect(await device.finds(KeyFixture.kept, in: files) == false)
        let next = try await device.stored()
        #expect(next.table.deletions == [1: 42] && next.table.ids == [KeyFixture.later])
        // Until the database says so.
        next.forgetDeletion(1)
        try next.prepare([KeyFixture.dropped])
        #expect(try await device.stored().table.deletions == [:])
    }

    @Test func `a deletion is written down while the vault is locked, and its keys go later`() async throws {
        let keys = try await device.begin([KeyFixture.kept, KeyFixture.later])
        keys.delete(1, through: 42)
        await device.vault.failNext(.before(KeyFixture.locked))
        #expect(await keys.writeDeletions(now: .now))
        let next = try await device.stored()
        #expect(next.table.deletions == [1: 42] && next.table.ids == [KeyFixture.later])
        #expect(next.rotationDelay(at: .now) == .zero)
    }

    @Test func `a deletion during a rotation waits for it, and is then put out of reach`() async throws {
        let storage = DeletingDouble(try await device.begin([KeyFixture.kept, KeyFixture.later]))
        let (gate, open) = AsyncStream<Void>.makeStream()
        await device.vault.holdNextStore(until: gate)
        let rotation = Task { try await storage.dropAndRotate(KeyFixture.dropped) }
        while await device.vault.calls.filter({ $0 == .store }).count < 2 { await Task.yield() }
        let deletion = Task { await storage.delete(1, through: 42) }
        while await !storage.isDeleting { await Task.yield() }
        open.yield()
        try await rotation.value
        let files = try device.files()
        #expect(await deletion.value)
        let next = try await device.stored()
        #expect(next.table.deletions == [1: 42] && next.table.ids == [KeyFixture.later])
        #expect(await device.finds(KeyFixture.kept, in: files) == false)
    }

    @Test(.enabled(if: SmallDisk.isPossible))
    func `a full disk has room for deletions, as long as the keys had some before`() async throws {
        let disk = try SmallDisk(byteCount: 262_144, at: URL(fileURLWithPath: device.path))
        defer { disk.unmount() }
        let vault = FileKeyVault(folder: URL(fileURLWithPath: device.path).appendingPathComponent("vault"))
        let keys = try await MessageKeys.open(in: device.path, vault: vault, beginsAnew: true).keys
        try keys.prepare((1...500).map { MessageKeyID(conversation: Int64($0), slot: .endless) })
        try disk.fill()
        // Each with a rotation of its own, on a disk that stays full.
        for conversation in 1...20 {
            keys.delete(Int64(conversation), through: 1000)
            #expect(await keys.writeDeletions(now: .now), "\(conversation)")
            try disk.fill()
            let next = try await MessageKeys.open(in: device.path, vault: vault, beginsAnew: false).keys
            #expect(next.table.deletions.count == conversation && next.table.ids.count == 500 - conversation)
        }
        // And says so where there is none.
        try FileManager.default.removeItem(atPath: device.path + "/keys.reserve")
        try disk.fill()
        keys.delete(21, through: 1000)
        #expect(await keys.writeDeletions(now: .now) == false)
        #expect(keys.rotationDelay(at: .now) == .zero)
        try disk.empty()
        #expect(await keys.writeDeletions(now: .now))
        let next = try await MessageKeys.open(in: device.path, vault: vault, beginsAnew: false).keys
        #expect(next.table.deletions.count == 21)
    }
}

/// An actor that has keys, as a storage does.
private actor DeletingDouble {
    private let keys: MessageKeys
    private(set) var isDeleting = false

    init(_ keys: sending MessageKeys) { self.keys = keys }

    func dropAndRotate(_ id: MessageKeyID) async throws {
        try keys.prepare([id])
        keys.drop([id])
        try await keys.rotate(now: .now)
    }

    func delete(_ conversation: Int64, through sequence: Int64) async -> Bool {
        keys.delete(conversation, through: sequence)
        isDeleting = true
        return await keys.writeDeletions(now: .now)
    }
}

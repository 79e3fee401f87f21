import CloakroomCrypto
import CloakroomKit
@testable import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Synchronization
import Testing

/// A device that was made anew, and then switched off before it had published what it took over.
@Suite(.serialized) struct RemovedElsewhereTests {
    /// A phone whose photos are in the tier alone, and one that was made anew from them.
    private func devices() async throws -> (first: StoreFixture, rebuilt: StoreFixture) {
        let first = try StoreFixture()
        _ = try await first.addOld("kept", "removed")
        #expect(await first.store.run().evicted == 2)
        let rebuilt = try StoreFixture(remote: first.remote, device: "rebuilt")
        #expect(try await rebuilt.store.rebuildCatalog().photos == 2)
        return (first, rebuilt)
    }

    private func remove(on device: StoreFixture, days: Int = 4) async throws {
        try await device.store.remove(name: "removed")
        for _ in 0..<days {
            _ = await device.store.run()
            device.clock.pass(days: 1)
        }
    }

    private var key: String { MD5.hash(StoreFixture.bytes("removed")).hexadecimal }

    @Test func `a photo that was removed meanwhile goes without an alarm`() async throws {
        let (first, rebuilt) = try await devices()
        try await remove(on: first)
        #expect(first.remote.account().objects.count == 1)
        let report = await rebuilt.store.run()
        #expect(report.stoppedBy == nil)
        #expect(report.alarms.isEmpty)
        #expect(try await rebuilt.store.photo(named: "removed") == nil)
        #expect(try await rebuilt.store.thumbnails().count == 1)
        let kept = try #require(try await rebuilt.store.photo(named: "kept"))
        #expect(try await rebuilt.read(kept) == first.bytes["kept"])
    }

    @Test func `opening a photo that was removed meanwhile raises no alarm`() async throws {
        let (first, rebuilt) = try await devices()
        try await remove(on: first)
        let removed = try #require(try await rebuilt.store.photo(named: "removed"))
        #expect(await CloakroomError.code { _ = try await rebuilt.store.open(removed) } == .noSuchPhoto)
        #expect(try await rebuilt.store.alarms().isEmpty)
        #expect(try await rebuilt.store.thumbnails().count == 1)
    }

    @Test func `a photo that is added while the documents are read stays`() async throws {
        let first = try StoreFixture()
        _ = try await first.addOld("kept", "removed")
        #expect(await first.store.run().evicted == 2)
        let rebuilt = Mutex<TieredPhotoStore?>(nil)
        let file = try first.write("again", StoreFixture.bytes("removed"))
        let date = first.clock.now
        let isLooking = Mutex(false)
        let device = try StoreFixture(
            remote: first.remote, device: "rebuilt",
            gate: { call, moment in
                guard call.kind == .document, moment == .before, isLooking.withLock({ exchange(&$0, with: false) })
                else {
                    return
                }
                _ = try await rebuilt.withLock { $0 }?.add(file, name: "removed", takenAt: date)
            })
        rebuilt.withLock { $0 = device.store }
        #expect(try await device.store.rebuildCatalog().photos == 2)
        try await remove(on: first)
        isLooking.withLock { $0 = true }
        _ = await device.store.run()
        let id = try #require(try await device.store.photo(named: "removed"))
        #expect(try await device.read(id) == StoreFixture.bytes("removed"))
        rebuilt.withLock { $0 = nil }
    }

    @Test func `a photo that is gone without having been removed raises the alarm`() async throws {
        let (first, rebuilt) = try await devices()
        first.remote.change { [key] in $0.objects[key] = nil }
        #expect(await rebuilt.store.run().alarms.map(\.kind) == [.missing])
        let lost = try #require(try await rebuilt.store.photo(named: "removed"))
        #expect(try await rebuilt.place(of: lost) == .missing)
    }

    @Test func `a photo that another device names still is lost, whoever removed it`() async throws {
        let (first, rebuilt) = try await devices()
        let third = try StoreFixture(remote: first.remote, device: "third")
        try await third.add("removed")
        _ = await third.store.run()
        try await remove(on: first)
        #expect(first.remote.account().objects.count == 2)
        first.remote.change { [key] in $0.objects[key] = nil }
        #expect(await rebuilt.store.run().alarms.map(\.kind) == [.missing])
        #expect(try await rebuilt.store.photo(named: "removed") != nil)
    }

    @Test func `a device that has published what it has misses a photo that is gone`() async throws {
        let (first, rebuilt) = try await devices()
        _ = await rebuilt.store.run()
        try await remove(on: first)
        #expect(first.remote.account().objects.count == 2)
        first.remote.change { [key] in $0.objects[key] = nil }
        rebuilt.clock.pass(days: 8)
        #expect(await rebuilt.store.run().alarms.map(\.kind) == [.missing])
    }
}

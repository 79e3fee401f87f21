import CloakroomKit
@testable import CloakroomScriptedTier
import CloakroomSQLite
import CloakroomTiers
import Foundation
import Synchronization
import Testing

/// What fails in the middle of a run.
@Suite(.serialized) struct RunFaultTests {
    @Test func `a file that cannot be removed keeps the others only until the next run`() async throws {
        let device = try StoreFixture()
        try await device.add("a")
        let other = try await device.add("b")
        _ = await device.store.run()
        // A folder is no file that can be unlinked.
        let file = device.photoFile(StoreFixture.bytes("a"))
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        device.clock.pass(days: 31)
        let first = await device.store.run()
        #expect(first.stoppedBy?.code == .unwritableFile)
        #expect(first.evicted == 0)
        let second = await device.store.run()
        #expect(second.stoppedBy == nil)
        #expect(second.evicted == 1)
        #expect(try await device.place(of: other) == .cold)
        #expect(try await device.read(other) == device.bytes["b"])
    }

    @Test func `a removed photo whose file cannot be removed keeps no store from being opened`() async throws {
        let device = try StoreFixture()
        let id = try await device.add("a")
        try await device.add("b")
        let file = device.photoFile(StoreFixture.bytes("a"))
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        try FileManager.default.createDirectory(
            at: device.folder.appendingPathComponent("incoming/copy-1"), withIntermediateDirectories: false)
        await #expect(throws: CloakroomError.self) { try await device.store.remove(id) }
        try await device.relaunch()
        #expect(try await device.read("b") == device.bytes["b"])
        #expect(await device.store.run().stoppedBy == nil)
        try FileManager.default.removeItem(at: file)
        // Again a file, and removed with the next launch.
        try StoreFixture.bytes("a").write(to: file)
        try await device.relaunch()
        #expect(device.photoFiles.count == 1)
    }

    @Test func `photos that fail in each run keep no others from being uploaded`() async throws {
        let device = try StoreFixture(gate: { call, moment in
            let bad = (0..<48).map { StoreFixture.key("bad \($0)") }
            if call.kind == .put, moment == .before, bad.contains(call.subject) {
                throw CloakroomError(.internalError, "a part of the store is lost", status: 500)
            }
        })
        for number in 0..<48 { try await device.add("bad \(number)") }
        device.clock.pass(days: 1)
        try await device.add("good")
        #expect(await device.store.run().stoppedBy?.code == .internalError)
        for _ in 0..<8 { _ = await device.store.run() }
        #expect(device.isStored("good"))
    }

    @Test func `what failed while the clock was ahead is tried again once it is right`() async throws {
        let device = try StoreFixture()
        device.clock.pass(days: 400)
        device.tier.script.add(.failBefore(CloakroomError(.forbidden, "not now", status: 403)), on: .put)
        try await device.add("a")
        #expect(await device.store.run().uploaded == 0)
        device.clock.pass(days: -400)
        #expect(await device.store.run().uploaded == 1)
        #expect(device.isStored("a"))
    }

    @Test func `alarms are in the report also when what is due cannot be counted`() async throws {
        let interruption = Interruption()
        let device = try StoreFixture(gate: interruption.gate)
        _ = try await device.addOld("a", "b")
        #expect(await device.store.run().evicted == 2)
        device.remote.change { $0.objects = [:] }
        device.clock.pass(days: 8)
        let path = device.folder.appendingPathComponent("catalog.sqlite").path
        interruption.set(on: .belongings) {
            let database = try SQLiteDatabase(at: path)
            try database.run("ALTER TABLE thumbnail RENAME TO hidden")
            database.close()
        }
        let report = await device.store.run()
        #expect(report.stoppedBy?.code == .storeFailed)
        #expect(report.alarms.map(\.kind) == [.missing])
    }

    @Test func `a catalog is not made anew over a network that the run may not use`() async throws {
        let device = try StoreFixture()
        let old = try await device.addOld("old")[0]
        try await device.add("young")
        #expect(await device.store.run().evicted == 1)
        #expect(try await device.place(of: old) == .cold)
        try await device.store.releaseLock()
        let catalog = device.folder.appendingPathComponent("catalog.sqlite")
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: catalog.path + suffix) }
        try Data(repeating: 7, count: 8192).write(to: catalog)
        try await device.relaunch()
        device.conditions.set(DeviceConditions(network: .expensive))
        device.remote.resetRequests()
        #expect(await device.store.run().stoppedBy?.code == .notAllowedNow)
        #expect(device.remote.requestCount == 0)
        // The photos of this device are there all the same.
        #expect(try await device.store.thumbnails().count == 1)
        device.conditions.set(DeviceConditions())
        #expect(await device.store.run().stoppedBy == nil)
        #expect(try await device.store.photo(named: "old") != nil)
    }

    @Test func `a folder of photos that cannot be listed is no empty one`() async throws {
        let device = try StoreFixture()
        try await device.add("a")
        let photos = device.folder.appendingPathComponent("photos")
        try FileManager.default.moveItem(at: photos, to: device.folder.appendingPathComponent("elsewhere"))
        try Data().write(to: photos)
        #expect(await CloakroomError.code { _ = try await device.store.usage() } == .unreadableFile)
        #expect(await CloakroomError.code { _ = try await device.store.rebuildCatalog() } == .unreadableFile)
    }
}

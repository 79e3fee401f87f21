import CloakroomCrypto
import CloakroomKit
@testable import CloakroomScriptedTier
import CloakroomSQLite
@testable import CloakroomTiers
import Foundation
import Testing

/// What the end of a process leaves, as files and records.
@Suite(.serialized) struct InterruptedTests {
    private func change(_ device: StoreFixture, _ sql: String) async throws {
        try await device.store.releaseLock()
        let path = device.folder.appendingPathComponent("catalog.sqlite").path
        let database = try SQLiteDatabase(at: path)
        try database.run(script: sql)
        database.close()
        try await device.relaunch()
    }

    @Test func `a photo's file has its SHA-256 and its format for a name, and no other file has`() {
        let digest = SHA256.hash(Array("photo".utf8))
        let name = digest.hexadecimal
        #expect(TieredPhotoStore.sha256(ofFile: "\(name).jpeg") == digest)
        for other in [
            "", name, "\(name).", "\(name).jpeg.part", "\(name).\(String(repeating: "x", count: 17))", ".\(name)",
            "\(name.dropLast(2)).jpeg", "\(name)00.jpeg", "\(name.uppercased()).jpeg", "\(name.dropLast())g.jpeg",
        ] { #expect(TieredPhotoStore.sha256(ofFile: other) == nil, "\(other)") }
    }

    @Test func `a photo without a record is adopted, and keeps its bytes`() async throws {
        let device = try StoreFixture()
        let data = StoreFixture.bytes("orphan")
        try data.write(to: device.photoFile(data, format: "jpg"))
        try await device.relaunch()
        _ = await device.store.run()
        let item = try #require(try await device.store.thumbnails().first)
        #expect(try await device.read(item.id) == data)
        #expect(try await device.add("name", data) == item.id)
        #expect(device.photoFiles == [device.photoFile(data, format: "jpg").lastPathComponent])
    }

    @Test func `a file whose bytes are not those of its name is left alone`() async throws {
        let device = try StoreFixture()
        let file = device.photoFile(StoreFixture.bytes("another"))
        try Data("other bytes".utf8).write(to: file)
        try await device.relaunch()
        _ = await device.store.run()
        #expect(try await device.store.thumbnails().isEmpty)
        #expect(try Data(contentsOf: file) == Data("other bytes".utf8))
    }

    @Test func `a photo that was to leave stays when its file is there, and has left when it is not`() async throws {
        let device = try StoreFixture()
        let there = try await device.add("there")
        let gone = try await device.add("gone")
        _ = await device.store.run()
        try FileManager.default.removeItem(at: device.photoFile(StoreFixture.bytes("gone")))
        try await change(device, "UPDATE photo SET state = 3")
        #expect(try await device.place(of: there) == .both)
        #expect(try await device.place(of: gone) == .cold)
        #expect(try await device.read(gone) == device.bytes["gone"])
    }

    @Test func `the file of a removed photo goes at the next start, and is not adopted`() async throws {
        let device = try StoreFixture()
        try await device.add("a")
        let data = StoreFixture.bytes("a")
        let file = device.photoFile(data)
        try await device.store.remove(name: "a")
        try data.write(to: file)
        try await change(device, "INSERT INTO removed_file VALUES ('\(file.lastPathComponent)')")
        _ = await device.store.run()
        #expect(device.photoFiles.isEmpty)
        #expect(try await device.store.thumbnails().isEmpty)
    }

    @Test func `a copy that was not finished is removed, and a fetch that was not stays to go on`() async throws {
        let device = try StoreFixture()
        try await device.add("a")
        device.clock.pass(days: 31)
        #expect(await device.store.run().evicted == 1)
        try Data("half".utf8).write(to: device.incoming.appendingPathComponent("copy-1"))
        let hash = MD5.hash(StoreFixture.bytes("a")).hexadecimal
        for hash in [hash, String(repeating: "0", count: 32), "00", "x"] { try device.leavePart(hash) }
        try await device.relaunch()
        // What came of photos that are no more goes, too.
        #expect(try device.incomingNames == StoreFixture.partNames(hash))
    }

    @Test func `a fetch that broke off goes on where it was`() async throws {
        let device = try StoreFixture()
        let id = try await device.addOld("a")[0]
        _ = await device.store.run()
        device.tier.script.add(.half(.scriptedOutage), on: .fetch)
        #expect(await CloakroomError.code { _ = try await device.store.open(id) } == .unreachable)
        try await device.relaunch()
        #expect(try await device.read(id) == device.bytes["a"])
    }

    @Test func `an upload whose end is not known is looked at before it is sent again`() async throws {
        let device = try StoreFixture()
        try await device.add("a")
        device.tier.script.add(.failBefore(.scriptedOutage), on: .verify)
        _ = await device.store.run()
        #expect(device.remote.requests(.put) == 1)
        try await device.relaunch()
        #expect(await device.store.run().uploaded == 0)
        #expect(device.remote.requests(.put) == 1)
        #expect(try await device.store.thumbnails().first?.place == .both)
    }

    @Test func `the database can give its pages back, and its log is a write-ahead log`() async throws {
        let device = try StoreFixture()
        try await device.store.releaseLock()
        let database = try SQLiteDatabase(at: device.folder.appendingPathComponent("catalog.sqlite").path)
        #expect(try database.first("PRAGMA auto_vacuum") { $0.integer(0) } == 2)
        #expect(try database.first("PRAGMA journal_mode") { $0.text(0) } == "wal")
    }

    @Test func `the catalog becomes smaller when photos are removed`() async throws {
        let device = try StoreFixture(RetentionPolicy(uploadTime: .whenDue))
        for number in 0..<300 {
            let name = "photo \(number) " + String(repeating: "n", count: 2000)
            try await device.store.add(
                try device.write("f", StoreFixture.bytes(name)), name: name, takenAt: device.clock.now)
        }
        device.clock.pass(days: 31)
        _ = await device.store.run()
        let full = try await device.store.usage().catalogBytes
        for item in try await device.store.thumbnails(limit: 300) { try await device.store.remove(item.id) }
        _ = await device.store.run()
        #expect(try await device.store.usage().catalogBytes < full / 2)
    }
}

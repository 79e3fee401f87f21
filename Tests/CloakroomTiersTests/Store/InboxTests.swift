import CloakroomKit
@testable import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

/// What other processes leave for the one that writes.
@Suite(.serialized) struct InboxTests {
    private let device: StoreFixture
    private let inbox: URL

    init() throws {
        device = try StoreFixture()
        inbox = device.folder.appendingPathComponent("inbox", isDirectory: true)
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: inbox.path).sorted() }
    }

    private func leave(_ name: String) async throws {
        let file = try device.write(name, StoreFixture.bytes(name))
        try await TieredPhotoStore.leave(file, name: name, takenAt: device.clock.now, inInboxOf: device.folder)
    }

    @Test func `a photo and its note are for their user alone`() async throws {
        try await leave("a")
        #expect(try names.count == 2)
        for name in try names {
            let attributes = try FileManager.default.attributesOfItem(atPath: inbox.appendingPathComponent(name).path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func `the usage counts what is in the inbox, until a run has added it`() async throws {
        #expect(try await device.store.usage().inboxCount == 0)
        try await leave("a")
        // What another process is copying is not left yet.
        try Data("half".utf8).write(to: inbox.appendingPathComponent("half.part"))
        let before = try await device.store.usage()
        #expect(before.inboxCount == 1)
        #expect(before.photoCount == 0)
        _ = await device.store.run()
        let after = try await device.store.usage()
        #expect(after.inboxCount == 0)
        #expect(after.photoCount == 1 && after.coldCount == 1)
    }

    @Test func `a photo that was damaged in the inbox is not added, and stays there`() async throws {
        try await leave("a")
        let photo = inbox.appendingPathComponent(try #require(try names.first { $0.hasSuffix(".photo") }))
        var bytes = try Data(contentsOf: photo)
        bytes[100] ^= 1
        try bytes.write(to: photo)
        try await leave("b")
        let report = await device.store.run()
        #expect(report.inboxFailure?.code == .photoDamaged)
        #expect(try await device.store.photo(named: "a") == nil)
        #expect(try await device.store.photo(named: "b") != nil)
        #expect(try Data(contentsOf: photo) == bytes)
        #expect(try await device.store.usage().inboxCount == 1)
        let incoming = device.folder.appendingPathComponent("incoming").path
        #expect(try FileManager.default.contentsOfDirectory(atPath: incoming).isEmpty)
    }

    @Test func `what processes left that ended while they copied goes a day later`() async throws {
        for name in ["half.part", "half.json", "folder.photo", "folder.json"] {
            let file = inbox.appendingPathComponent(name)
            if name == "folder.photo" {
                try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
            } else {
                try Data("half".utf8).write(to: file)
                try FileManager.default.setAttributes([.modificationDate: device.clock.now], ofItemAtPath: file.path)
            }
        }
        device.clock.pass(days: 0.9)
        _ = await device.store.run()
        #expect(try names.count == 4)
        device.clock.pass(days: 0.2)
        #expect(await device.store.run().inboxFailure?.code == .unreadableFile)
        // The note of one that could not be added stays with it.
        #expect(try names == ["folder.json", "folder.photo"])
    }

    @Test func `an inbox that cannot be listed is reported, and keeps no photo from being uploaded`() async throws {
        try FileManager.default.removeItem(at: inbox)
        try Data().write(to: inbox)
        try await device.add("a")
        let report = await device.store.run()
        #expect(report.inboxFailure?.code == .unreadableFile)
        #expect(report.uploaded == 1)
    }

    @Test func `an entry that cannot be copied keeps nothing else from being done`() async throws {
        try await device.add("a")
        let photo = try device.write("b", StoreFixture.bytes("b"))
        try await TieredPhotoStore.leave(photo, name: "b", takenAt: device.clock.now, inInboxOf: device.folder)
        // Before all others.
        let strange = device.folder.appendingPathComponent("inbox/0.photo", isDirectory: true)
        try FileManager.default.createDirectory(at: strange, withIntermediateDirectories: true)
        let report = await device.store.run()
        #expect(report.inboxFailure?.code == .unreadableFile)
        #expect(report.stoppedBy == nil)
        #expect(report.uploaded == 2)
        let freed = await device.store.freeSpace(.perform)
        #expect(freed.stoppedBy == nil)
        #expect(freed.evicted == 2)
        #expect(FileManager.default.fileExists(atPath: strange.path))
    }

    @Test(arguments: [1e17, -1e17, 1e300])
    func `a photo of a date beyond all calendars is added as any other`(seconds: Double) async throws {
        let photo = try device.write("a", StoreFixture.bytes("a"))
        try await TieredPhotoStore.leave(
            photo, name: "a", takenAt: Date(timeIntervalSince1970: seconds), inInboxOf: device.folder)
        let report = await device.store.run()
        #expect(report.inboxFailure == nil)
        #expect(report.stoppedBy == nil)
        #expect(report.uploaded == 1)
        let other = try StoreFixture(remote: device.remote, device: "other")
        #expect(try await other.store.rebuildCatalog().unnamed == 0)
        #expect(try await other.read("a") == StoreFixture.bytes("a"))
    }
}

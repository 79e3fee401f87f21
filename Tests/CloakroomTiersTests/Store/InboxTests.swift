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
}

import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// A storage is its first user's.
@Suite struct MessageOwnerTests {
    private func prepared() async throws -> RetentionFixture {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1")
        return device
    }

    /// Opens the messages as a user, and closes them again.
    private func open(_ device: RetentionFixture, as user: ParticipantID) async throws -> CloakroomError.Code? {
        await device.storage.close()
        let clocks = device.clocks
        let storage = try await SQLiteMessageStorage(
            folder: device.folder, vault: device.vault, reading: clocks.reading, step: { _ in })
        let code = await CloakroomError.code {
            _ = try await MessageRetention(of: user, storage: storage, read: { clocks.reading })
        }
        await storage.close()
        return code
    }

    @Test func `another user is refused, and the same one opens it again`() async throws {
        let device = try await prepared()
        let master = await device.vault.value
        #expect(try await open(device, as: RetentionFixture.peer) == .storeOwnerMismatch)
        #expect(await device.vault.value == master)
        #expect(try await open(device, as: RetentionFixture.own) == nil)
        try await device.relaunch()
        #expect(try await device.shown() == ["m1"])
    }

    @Test func `another user is refused also where nothing is stored`() async throws {
        let device = try await RetentionFixture()
        #expect(try await open(device, as: RetentionFixture.peer) == .storeOwnerMismatch)
    }

    @Test func `a storage that has refused a user is still its own user's`() async throws {
        let device = try await prepared()
        let (storage, clocks) = (device.storage, device.clocks)
        let code = await CloakroomError.code {
            _ = try await MessageRetention(of: RetentionFixture.peer, storage: storage, read: { clocks.reading })
        }
        #expect(code == .storeOwnerMismatch)
        #expect(try await device.retention.agreement(in: RetentionFixture.conversation).own == .keep)
    }

    @Test func `users whose names only look alike are two`() async throws {
        let device = try await RetentionFixture()
        try await device.retention.eraseEverything()
        #expect(try await open(device, as: RetentionFixture.participant("Zo\u{EB}")) == nil)
        #expect(try await open(device, as: RetentionFixture.participant("Zoe\u{308}")) == .storeOwnerMismatch)
    }

    @Test func `messages of an earlier version are the first user's who opens them`() async throws {
        let device = try await prepared()
        await device.storage.close()
        try FormerSchema.replace(device.folder.appendingPathComponent("messages.sqlite"))
        try await device.relaunch()
        #expect(try await device.shown() == ["m1"])
        #expect(try await open(device, as: RetentionFixture.peer) == .storeOwnerMismatch)
    }

    @Test func `a damaged database that was moved aside leaves its user's name to the next one`() async throws {
        let device = try await prepared()
        await device.storage.close()
        let mark = device.folder.appendingPathComponent("messages.sqlite.damaged")
        #expect(FileManager.default.createFile(atPath: mark.path, contents: nil))
        #expect(try await open(device, as: RetentionFixture.peer) == .storeOwnerMismatch)
        try await device.relaunch()
        #expect(try await device.retention.agreement(in: RetentionFixture.conversation).own == .keep)
    }

    @Test func `what was erased is another user's, unless the former one goes on with it`() async throws {
        for goesOn in [false, true] {
            let device = try await prepared()
            try await device.retention.eraseEverything()
            if goesOn { try await device.want(.keep) }
            let expected: CloakroomError.Code? = goesOn ? .storeOwnerMismatch : nil
            #expect(try await open(device, as: RetentionFixture.peer) == expected)
        }
    }
}

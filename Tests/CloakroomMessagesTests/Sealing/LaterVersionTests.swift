import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// Keys that are there and cannot be used: which of them are lost, and which must be left alone.
@Suite struct LaterVersionTests {
    private func prepared() async throws -> RetentionFixture {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1")
        await device.storage.close()
        return device
    }

    private func error(of device: RetentionFixture) async -> CloakroomError? {
        let (folder, vault, reading) = (device.folder, device.vault, device.clocks.reading)
        do {
            _ = try await SQLiteMessageStorage(folder: folder, vault: vault, reading: reading, step: { _ in })
            return nil
        } catch {
            return error as? CloakroomError
        }
    }

    @Test func `a vault of a later version is refused, and nothing is changed`() async throws {
        let device = try await prepared()
        let value = try #require(await device.vault.value)
        try await device.vault.store(Data([7]) + value.dropFirst() + Data([1, 2, 3]))
        let later = await device.vault.value
        let files = try contents(device)
        let error = await error(of: device)
        #expect(error?.code == .laterVersion)
        #expect(error?.message.contains("version 7") == true)
        #expect(await device.vault.value == later)
        #expect(try contents(device) == files)
        try await device.vault.store(value)
        try await device.relaunch()
        #expect(try await device.shown() == ["m1"])
    }

    @Test(arguments: ["keys", "keys.next"]) func `a key file of a later version is refused, and nothing is changed`(
        name: String
    ) async throws {
        let device = try await prepared()
        let folder = device.folder.appendingPathComponent("keys", isDirectory: true)
        let bytes = try Data(contentsOf: folder.appendingPathComponent("keys"))
        try write(Data([2]) + bytes.dropFirst(), to: folder.appendingPathComponent(name))
        let (files, vault) = (try contents(device), await device.vault.value)
        let error = await error(of: device)
        #expect(error?.code == .laterVersion)
        #expect(error?.message.contains("version 2") == true)
        #expect(try contents(device) == files)
        #expect(await device.vault.value == vault)
        try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        try write(bytes, to: folder.appendingPathComponent("keys"))
        try await device.relaunch()
        #expect(try await device.shown() == ["m1"])
    }

    /// For this user alone, as key files have to be.
    private func write(_ bytes: Data, to file: URL) throws {
        try bytes.write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }

    private func contents(_ device: RetentionFixture) throws -> [String: Data] {
        let folder = device.folder.appendingPathComponent("keys", isDirectory: true)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: folder.appendingPathComponent($0))) })
    }

    @Test func `keys that began anew just before a kill still count as lost`() async throws {
        let device = try await prepared()
        try await device.vault.erase()
        // As far as the process came: new keys, and the messages not removed.
        let path = device.folder.appendingPathComponent("keys").path
        #expect(
            try await MessageKeys.open(in: path, vault: device.vault, beginsAnew: true).origin == .lost(.vaultEmpty))
        try await device.relaunch()
        #expect(await device.storage.losses == [.vault])
        #expect(try await device.retention.purge().purgedCount == 1)
        #expect(try device.count("message") == 0)
        // Its tombstone would not be found by the new key for names.
        #expect(try await device.admit("m1") == .kept(until: nil))
        try await device.relaunch()
        #expect(await device.storage.losses == [])
        #expect(try await device.shown() == ["m1"])
    }
}

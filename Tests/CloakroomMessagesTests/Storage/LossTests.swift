import CloakroomKit
@testable import CloakroomMessages
import CloakroomSQLite
import Foundation
import Testing

/// Keys that cannot be read, and a database that is damaged: what can be saved is, and what cannot stays nowhere else.
@Suite struct LossTests {
    private let conversation = RetentionFixture.conversation

    /// A message that has ended, one of this user's and one of the peer's, each with an image.
    private func prepared() async throws -> RetentionFixture {
        let device = try await RetentionFixture()
        try await device.want(.oneWeek)
        try await device.receive(device.said(.oneDay, version: 4))
        try await device.admit("ended", .oneHour)
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().purgedCount == 1)
        try await device.admit(
            "own", .oneDay, from: RetentionFixture.own, attachments: [.init(assetKey: "chat/1", releaseToken: "token")])
        try await device.admit("theirs", .oneDay, attachments: [.init(assetKey: "chat/2")])
        try await device.retention.keepAttachment(Data([1]), at: 0, of: "theirs".asReference)
        try await device.want(.oneWeek, .history)
        await device.storage.close()
        return device
    }

    private func contents(_ device: RetentionFixture) throws -> [String: Data] {
        let files = FileManager.default.enumerator(at: device.folder, includingPropertiesForKeys: nil)
        var contents: [String: Data] = [:]
        while let file = files?.nextObject() as? URL {
            if !file.hasDirectoryPath { contents[file.path] = try Data(contentsOf: file) }
        }
        return contents
    }

    /// Handlers, the cache and the bucket have nothing of them any more, or will not when they end for the others.
    private func expectGoneElsewhere(_ device: RetentionFixture) async throws {
        #expect(try await device.shown() == [])
        #expect(try await device.retention.purge().purgedCount == 2)
        #expect(device.handler.ids.sorted() == ["ended", "own", "theirs"])
        #expect(device.cache.keys == ["chat/1", "chat/2"])
        #expect(try await device.retention.hasEnded(assetKey: "chat/2"))
        #expect(try device.count("message") == 0)
        #expect(try await device.retention.releaseAssets() == 0)
        device.clocks.pass(.seconds(86_400))
        #expect(try await device.retention.releaseAssets() == 1)
        #expect(device.releaser.keys == ["chat/1"])
    }

    // MARK: Keys

    @Test(arguments: [nil, Data([1, 2, 3]), Data([1] + [UInt8](repeating: 7, count: 32))] as [Data?])
    func `a vault without the key changes nothing, and with it all is there`(value: Data?) async throws {
        let device = try await prepared()
        let key = try #require(await device.vault.value)
        let files = try contents(device)
        await device.vault.put(value)
        #expect(await CloakroomError.code { try await device.relaunch() } == .vaultLost)
        #expect(await device.vault.value == value)
        #expect(try contents(device) == files)
        await device.vault.put(key)
        try await device.relaunch()
        #expect(await device.storage.losses == [])
        #expect(try await device.shown() == ["own", "theirs"])
    }

    @Test func `a file of keys that is gone changes nothing, and may come back`() async throws {
        let device = try await prepared()
        let keys = device.folder.appendingPathComponent("keys")
        let elsewhere = device.folder.appendingPathExtension("keys")
        try FileManager.default.moveItem(at: keys, to: elsewhere)
        let key = await device.vault.value
        #expect(await CloakroomError.code { try await device.relaunch() } == .vaultLost)
        #expect(await device.vault.value == key)
        try FileManager.default.removeItem(at: keys)
        try FileManager.default.moveItem(at: elsewhere, to: keys)
        try await device.relaunch()
        #expect(try await device.shown() == ["own", "theirs"])
    }

    @Test func `a folder without messages begins with new keys, as when the app is installed again`() async throws {
        let device = try await prepared()
        let key = await device.vault.value
        try FileManager.default.removeItem(at: device.folder)
        try await device.relaunch()
        #expect(await device.storage.losses == [])
        #expect(await device.vault.value != key)
    }

    @Test func `keys that begin anew leave nothing of the messages elsewhere`() async throws {
        let device = try await prepared()
        await device.vault.put(nil)
        try await device.relaunch(beginningAnewIfLost: true)
        #expect(await device.storage.losses == [.vault])
        #expect(try await device.retention.retentionPolicy(in: conversation) == .oneWeek)
        try await expectGoneElsewhere(device)
        #expect(device.attachmentFiles == [])
    }

    @Test func `a message that is lost with its key, and not over, can arrive again`() async throws {
        let device = try await prepared()
        await device.vault.put(nil)
        try await device.relaunch(beginningAnewIfLost: true)
        try await device.retention.purge()
        #expect(
            try await device.admit("theirs", .oneDay, attachments: [.init(assetKey: "chat/2")])
                == .kept(until: device.clocks.later(.seconds(86_400))))
        #expect(try await device.shown() == ["theirs"])
        #expect(try await !device.retention.hasEnded(assetKey: "chat/2"))
        try await device.relaunch()
        #expect(await device.storage.losses == [])
        #expect(try await device.shown() == ["theirs"])
    }

    // MARK: The database

    /// As a statement does that meets the damage.
    private func mark(_ device: RetentionFixture) {
        let file = device.folder.appendingPathComponent("messages.sqlite.damaged")
        #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
    }

    /// Makes the first page of a table none of a database.
    private func damage(_ table: String, _ device: RetentionFixture) throws {
        let database = try device.connect()
        let page = try database.first("SELECT rootpage FROM sqlite_schema WHERE name = ?", [.text(table)]) {
            $0.integer(0)
        }
        let pageSize = try database.first("PRAGMA page_size") { Int($0.integer(0)) }
        database.close()
        let file = device.folder.appendingPathComponent("messages.sqlite")
        var bytes = try Data(contentsOf: file)
        let (number, size) = (Int(try #require(page)), try #require(pageSize))
        let start = (number - 1) * size
        bytes.replaceSubrange(start..<start + size, with: Data(repeating: 7, count: size))
        try bytes.write(to: file)
        mark(device)
    }

    @Test(arguments: [nil, "message", "release"])
    func `policies and what is not to come back outlast a damaged database`(table: String?) async throws {
        let device = try await prepared()
        try await device.relaunch()
        let register = try await device.retention.controlMessage(in: conversation).register
        await device.storage.close()
        if let table { try damage(table, device) } else { mark(device) }
        try await device.relaunch()
        #expect(await device.storage.losses == [.database])
        let agreement = try await device.retention.agreement(in: conversation)
        #expect(agreement.own == .oneWeek && agreement.peers == [RetentionFixture.peer: .oneDay])
        #expect(try await device.retention.controlMessage(in: conversation).register == register)
        #expect(register?.cuts.isEmpty == false)
        #expect(try await device.retention.stamp(in: conversation).policy == .oneDay)
        #expect(try await device.admit("ended") == .replay)
        // What comes now is stored, with a number of its own.
        try await device.admit("new")
        try await device.relaunch()
        #expect(await device.storage.losses == [])
        #expect(try await device.shown() == ["new"])
        let number = try device.connect().first("SELECT seq FROM message WHERE name = 'new'") { $0.integer(0) }
        #expect(try #require(number) > 3)
    }

    @Test func `a damaged database leaves nothing of its messages elsewhere, as far as it can be read`() async throws {
        let device = try await prepared()
        mark(device)
        try await device.relaunch()
        try await expectGoneElsewhere(device)
    }

    @Test func `a message that is lost with its database, and not over, can arrive again`() async throws {
        let device = try await prepared()
        mark(device)
        try await device.relaunch()
        #expect(
            try await device.admit("theirs", .oneDay) == .kept(until: device.clocks.later(.seconds(86_400))))
        device.clocks.pass(.seconds(86_400))
        await device.storage.close()
        mark(device)
        try await device.relaunch()
        // It has ended meanwhile, and was not purged.
        #expect(try await device.admit("theirs", .oneDay) == .replay)
    }

    @Test(arguments: ["conversation", "member", "register", "cut"])
    func `policies that cannot be read are a loss of their own`(table: String) async throws {
        let device = try await prepared()
        try damage(table, device)
        try await device.relaunch()
        #expect(await device.storage.losses == [.database, .policies])
        try await device.want(.keep)
        try await device.admit("new")
        try await device.relaunch()
        #expect(try await device.shown() == ["new"])
    }

    @Test func `a process that is killed before it takes over a damaged database leaves that to the next one`()
        async throws
    {
        let device = try await prepared()
        let file = device.folder.appendingPathComponent("messages.sqlite")
        _ = try SQLiteDatabase.moveAside(at: file.path, on: device.clocks.now)
        _ = try MessageDatabase(at: file)
        try await device.relaunch()
        #expect(await device.storage.losses == [.database])
        #expect(try await device.retention.retentionPolicy(in: conversation) == .oneWeek)
        try await device.relaunch()
        #expect(await device.storage.losses == [])
    }
}

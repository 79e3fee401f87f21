import CloakroomCrypto
import CloakroomKit
import Foundation
import Testing

@testable import CloakroomMessages

@Suite struct MessageKeysTests {
    private let device: KeyFixture
    private let body = Array("see you at eight".utf8)

    init() throws { device = try KeyFixture() }

    @Test func `a body opens in the next process`() async throws {
        let sealed = try await device.begin().seal(body, message: 7, under: KeyFixture.kept)
        #expect(sealed.count == body.count + 28)
        #expect(try await device.stored().open(sealed, message: 7, under: KeyFixture.kept) == body)
    }

    @Test func `a body opens nowhere but in its place`() async throws {
        let keys = try await device.begin([KeyFixture.kept, KeyFixture.dropped, KeyFixture.later])
        let sealed = try keys.seal(body, message: 7, under: KeyFixture.kept)
        #expect(keys.open(sealed, message: 8, under: KeyFixture.kept) == nil)
        #expect(keys.open(sealed, message: 7, under: KeyFixture.dropped) == nil)
        #expect(keys.open(sealed, message: 7, under: KeyFixture.later) == nil)
        let elsewhere = MessageKeyID(conversation: 9, slot: .endless)
        #expect(keys.open(sealed, message: 7, under: elsewhere) == nil)
        // Not even with the key of the right one.
        let key = try #require(keys.key(KeyFixture.kept))
        #expect(key.open(sealed, context: SealingContext(conversation: 2, message: 7).body) == nil)
        #expect(key.open(sealed, context: SealingContext(conversation: 1, message: 7).body) == body)
    }

    @Test func `never seals alike, in this process and in the next`() async throws {
        var nonces: Set<[UInt8]> = []
        for keys in [try await device.begin(), try await device.stored()] {
            for _ in 0..<1000 {
                nonces.insert(Array(try keys.seal(body, message: 1, under: KeyFixture.kept).prefix(12)))
            }
        }
        #expect(nonces.count == 2000)
    }

    @Test func `without a key nothing is sealed`() async throws {
        let keys = try await device.begin()
        #expect(throws: CloakroomError(.storeFailed, "a message has no key")) {
            try keys.seal(body, message: 1, under: KeyFixture.later)
        }
    }

    @Test func `keys are in the file before anything is sealed, in one write for all`() async throws {
        let keys = try await device.begin([])
        let before = try #require(device.place.content("keys/keys"))
        let ids = (0..<500).map { MessageKeyID(conversation: Int64($0), slot: .endless) }
        try keys.prepare(ids)
        let after = try #require(device.place.content("keys/keys"))
        #expect(after.count == before.count + 500 * 52)
        #expect(await device.finds(ids[499], in: try device.files()))
        // Nothing is written for keys that are there.
        try keys.prepare(ids + ids)
        #expect(device.place.content("keys/keys") == after)
    }

    @Test func `keys are random, and made only once`() async throws {
        let keys = try await device.begin()
        let bytes = try #require(keys.key(KeyFixture.kept)).reveal()
        #expect(keys.key(KeyFixture.dropped)?.reveal() != bytes)
        try keys.prepare([KeyFixture.kept, KeyFixture.later])
        #expect(keys.key(KeyFixture.kept)?.reveal() == bytes)
        #expect(try await device.stored().key(KeyFixture.kept)?.reveal() == bytes)
    }

    @Test func `a key that was dropped is gone at once, and another one is made in its place`() async throws {
        let keys = try await device.begin()
        let sealed = try keys.seal(body, message: 1, under: KeyFixture.dropped)
        keys.drop([KeyFixture.dropped])
        #expect(keys.key(KeyFixture.dropped) == nil)
        #expect(keys.open(sealed, message: 1, under: KeyFixture.dropped) == nil)
        try keys.prepare([KeyFixture.dropped])
        #expect(keys.open(sealed, message: 1, under: KeyFixture.dropped) == nil)
    }

    @Test func `keys that no message needs are dropped`() async throws {
        let keys = try await device.begin()
        keys.keepOnly([KeyFixture.kept])
        #expect(keys.key(KeyFixture.kept) != nil && keys.key(KeyFixture.dropped) == nil)
        #expect(keys.rotationDelay(at: .now) == .zero)
    }

    @Test func `a body whose deadline fell is sealed anew, and the former key is not needed for it`() async throws {
        let keys = try await device.begin([KeyFixture.kept, KeyFixture.dropped])
        let sealed = try keys.seal(body, message: 3, under: KeyFixture.kept)
        let fallen = try #require(
            try keys.reseal(sealed, message: 3, from: KeyFixture.kept, to: KeyFixture.dropped))
        keys.drop([KeyFixture.kept])
        #expect(keys.open(fallen, message: 3, under: KeyFixture.dropped) == body)
        #expect(try keys.reseal(sealed, message: 3, from: KeyFixture.kept, to: KeyFixture.dropped) == nil)
        #expect(throws: CloakroomError.self) {
            try keys.reseal(fallen, message: 3, from: KeyFixture.dropped, to: KeyFixture.later)
        }
    }

    @Test func `its files are for the user alone`() async throws {
        _ = try await device.begin()
        #expect(try device.place.mode("keys") == 0o700)
        #expect(try device.place.names(in: "keys") == ["keys", "keys.reserve"])
        for name in try device.place.names(in: "keys") { #expect(try device.place.mode("keys/\(name)") == 0o600) }
    }

    // MARK: Loss

    @Test(arguments: [false, true])
    func `a vault that lost its value is said, and keys begin anew`(isDamaged: Bool) async throws {
        let sealed = try await device.begin().seal(body, message: 1, under: KeyFixture.kept)
        await device.vault.put(isDamaged ? Data([1, 2, 3]) : nil)
        let (keys, origin) = try await device.open()
        #expect(origin == .lost(.vaultEmpty))
        #expect(keys.open(sealed, message: 1, under: KeyFixture.kept) == nil)
        try keys.prepare([KeyFixture.kept])
        let again = try keys.seal(body, message: 1, under: KeyFixture.kept)
        #expect(try await device.stored().open(again, message: 1, under: KeyFixture.kept) == body)
    }

    @Test func `a vault with another value is said`() async throws {
        _ = try await device.begin()
        await device.vault.put(Data([1] + SealingKey.random().reveal()))
        #expect(try await device.open().origin == .lost(.fileUseless))
        #expect(try await device.open().origin == .stored)
    }

    @Test(arguments: [Data(), Data([1]), Data(count: 200)])
    func `a file that is damaged is said, and keys begin anew`(content: Data) async throws {
        _ = try await device.begin()
        device.place.put(content, at: "keys/keys")
        #expect(try await device.open().origin == .lost(.fileUseless))
        #expect(try await device.open().origin == .stored)
    }

    @Test func `a file with a byte that was changed is said`() async throws {
        _ = try await device.begin()
        var content = try #require(device.place.content("keys/keys"))
        content[content.count / 2] ^= 1
        device.place.put(content, at: "keys/keys")
        #expect(try await device.open().origin == .lost(.fileUseless))
    }

    @Test func `a file that is gone is said`() async throws {
        _ = try await device.begin()
        try FileManager.default.removeItem(atPath: device.place.path("keys/keys"))
        #expect(try await device.open().origin == .lost(.fileMissing))
    }

    @Test(arguments: [MessageKeys.Loss.vaultEmpty, .fileMissing, .fileUseless])
    func `keys that cannot be read are left alone unless they are to begin anew`(loss: MessageKeys.Loss) async throws {
        let sealed = try await device.begin().seal(body, message: 1, under: KeyFixture.kept)
        let value = await device.vault.value
        let file = try #require(device.place.content("keys/keys"))
        switch loss {
        case .vaultEmpty: await device.vault.put(nil)
        case .fileMissing: try FileManager.default.removeItem(atPath: device.place.path("keys/keys"))
        case .fileUseless: await device.vault.put(Data([1] + SealingKey.random().reveal()))
        }
        let (files, calls) = (try device.files(), await device.vault.calls.count)
        #expect(await CloakroomError.codeOf { _ = try await device.open(beginsAnew: false) } == .vaultLost)
        #expect(try device.files() == files)
        #expect(await device.vault.calls.dropFirst(calls) == [.load])
        await device.vault.put(value)
        if loss == .fileMissing { device.place.put(file, at: "keys/keys") }
        #expect(try await device.stored().open(sealed, message: 1, under: KeyFixture.kept) == body)
    }

    @Test(arguments: [MessageKeys.Loss.vaultEmpty, .fileMissing, .fileUseless])
    func `a loss has a code and a reason of its own`(loss: MessageKeys.Loss) {
        #expect(loss.error.code == .vaultLost)
        #expect(loss.error.message.hasPrefix("stored messages cannot be read: the "))
    }

    @Test(arguments: [KeyFixture.locked, KeyFixture.failure])
    func `a vault that cannot be read now loses nothing`(error: CloakroomError) async throws {
        let sealed = try await device.begin().seal(body, message: 1, under: KeyFixture.kept)
        let files = try device.files()
        await device.vault.failNext(.before(error))
        #expect(await CloakroomError.codeOf { _ = try await device.open() } == error.code)
        #expect(try device.files() == files)
        #expect(try await device.stored().open(sealed, message: 1, under: KeyFixture.kept) == body)
    }

    @Test(arguments: [0o640, 0o604])
    func `a file that others can read is an error, and nothing is begun anew`(mode: Int) async throws {
        let sealed = try await device.begin().seal(body, message: 1, under: KeyFixture.kept)
        #expect(chmod(device.place.path("keys/keys"), mode_t(mode)) == 0)
        #expect(await CloakroomError.codeOf { _ = try await device.open() } == .storeFailed)
        #expect(chmod(device.place.path("keys/keys"), 0o600) == 0)
        #expect(try await device.stored().open(sealed, message: 1, under: KeyFixture.kept) == body)
    }

    @Test func `a link in the file's place is not followed`() async throws {
        _ = try await device.begin()
        let elsewhere = device.place.path("elsewhere")
        try FileManager.default.moveItem(atPath: device.place.path("keys/keys"), toPath: elsewhere)
        try FileManager.default.createSymbolicLink(
            atPath: device.place.path("keys/keys"), withDestinationPath: elsewhere)
        let content = device.place.content("elsewhere")
        #expect(await CloakroomError.codeOf { _ = try await device.open() } == .storeFailed)
        #expect(device.place.content("elsewhere") == content)
    }

    @Test func `what a killed writer left is removed, and a later file counts`() async throws {
        _ = try await device.begin()
        for name in ["keys", "keys.next", "keys.reserve"] {
            device.place.put(Data(count: 3), at: "keys/\(name).new-17")
        }
        _ = try await device.stored()
        #expect(try device.place.names(in: "keys") == ["keys", "keys.reserve"])
    }

    @Test func `erasing leaves no file, no value and no key`() async throws {
        let keys = try await device.begin()
        let files = try device.files()
        try await keys.erase()
        #expect(keys.key(KeyFixture.kept) == nil)
        #expect(await device.vault.value == nil)
        #expect(try device.files().isEmpty)
        #expect(try await device.open().origin == .new)
        #expect(await device.finds(KeyFixture.kept, in: files) == false)
    }

    @Test func `what is erased cannot be opened even when the vault refuses, and can be erased later`() async throws {
        let keys = try await device.begin()
        await device.vault.failNext(.before(KeyFixture.locked))
        #expect(await CloakroomError.codeOf { try await keys.erase() } == .vaultLocked)
        #expect(keys.key(KeyFixture.kept) == nil)
        try await keys.erase()
        #expect(try await device.open().origin == .new)
    }

    @Test func `a first start that is interrupted anywhere is a first start again, or done`() async throws {
        for number in 0..<2 {
            for failure in [ScriptedVault.Failure.before(KeyFixture.failure), .after(KeyFixture.failure)] {
                let device = try KeyFixture()
                await device.vault.fail(failure, at: number)
                #expect(await CloakroomError.codeOf { _ = try await device.open() } == .storeFailed)
                let (keys, origin) = try await device.open()
                #expect(origin == .new || origin == .stored)
                try keys.prepare([KeyFixture.kept])
                _ = try await device.stored()
            }
        }
    }
}

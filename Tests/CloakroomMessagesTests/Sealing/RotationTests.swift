import CloakroomCrypto
import CloakroomKit
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomMessages

@Suite struct RotationTests {
    private let device: KeyFixture
    private let body = Array("see you at eight".utf8)

    init() throws { device = try KeyFixture() }

    private func interrupt(_ keys: MessageKeys, at point: RotationPoint) async {
        let code = await CloakroomError.codeOf {
            try await keys.rotate { (reached) throws(CloakroomError) in
                if reached == point { throw KeyFixture.killed }
            }
        }
        #expect(code == .cancelled)
    }

    @Test func `what was dropped cannot be opened by any file that ever was`() async throws {
        let keys = try await device.begin()
        let sealed = try keys.seal(body, message: 1, under: KeyFixture.kept)
        var files = try device.files()
        #expect(await device.finds(KeyFixture.dropped, in: files))
        keys.drop([KeyFixture.dropped])
        // Until then it can.
        #expect(await device.finds(KeyFixture.dropped, in: files))
        try await keys.rotate { (_) throws(CloakroomError) in
            files += (try? device.files()) ?? []
        }
        #expect(await device.finds(KeyFixture.dropped, in: files) == false)
        #expect(keys.open(sealed, message: 1, under: KeyFixture.kept) == body)
        #expect(try await device.stored().open(sealed, message: 1, under: KeyFixture.kept) == body)
        #expect(try device.place.names(in: "keys") == ["keys", "keys.reserve"])
    }

    @Test(arguments: RotationPoint.allCases, RotationPoint.allCases)
    func `interrupted twice, anywhere, nothing is lost and nothing dropped comes back`(
        first: RotationPoint, second: RotationPoint
    ) async throws {
        let keys = try await device.begin()
        let sealed = try keys.seal(body, message: 1, under: KeyFixture.kept)
        var files = try device.files()
        keys.drop([KeyFixture.dropped])
        await interrupt(keys, at: first)
        files += try device.files()
        // The next process, by what its journal says.
        let next = try await device.stored()
        #expect(next.open(sealed, message: 1, under: KeyFixture.kept) == body)
        next.keepOnly([KeyFixture.kept])
        await interrupt(next, at: second)
        files += try device.files()
        let last = try await device.stored()
        #expect(last.open(sealed, message: 1, under: KeyFixture.kept) == body)
        last.keepOnly([KeyFixture.kept])
        try await last.rotate()
        files += try device.files()
        #expect(await device.finds(KeyFixture.dropped, in: files) == false)
        #expect(try await device.stored().open(sealed, message: 1, under: KeyFixture.kept) == body)
    }

    @Test(arguments: RotationPoint.allCases)
    func `the same process completes what was interrupted, with the keys that were made meanwhile`(
        point: RotationPoint
    ) async throws {
        let keys = try await device.begin()
        var files = try device.files()
        keys.drop([KeyFixture.dropped])
        await interrupt(keys, at: point)
        try keys.prepare([KeyFixture.later])
        let sealed = try keys.seal(body, message: 5, under: KeyFixture.later)
        files += try device.files()
        // Killed here, both are there.
        let other = try await device.stored()
        #expect(other.open(sealed, message: 5, under: KeyFixture.later) == body)
        try await other.rotate()
        files += try device.files()
        #expect(await device.finds(KeyFixture.dropped, in: files) == false)
        #expect(try await device.stored().open(sealed, message: 5, under: KeyFixture.later) == body)
    }

    @Test(arguments: [true, false])
    func `a vault that fails loses nothing, and the next attempt completes it`(isStored: Bool) async throws {
        let keys = try await device.begin()
        let sealed = try keys.seal(body, message: 1, under: KeyFixture.kept)
        let files = try device.files()
        keys.drop([KeyFixture.dropped])
        await device.vault.failNext(isStored ? .after(KeyFixture.locked) : .before(KeyFixture.locked))
        let code = await CloakroomError.codeOf { try await keys.rotate() }
        // It says that it failed, and the vault has the new key: that is a success.
        #expect(code == (isStored ? nil : .vaultLocked))
        #expect((keys.rotationDelay(at: .now) == nil) == isStored)
        try keys.prepare([KeyFixture.later])
        #expect(try await device.stored().open(sealed, message: 1, under: KeyFixture.kept) == body)
        try await keys.rotate()
        #expect(await device.finds(KeyFixture.dropped, in: files) == false)
        let next = try await device.stored()
        #expect(next.open(sealed, message: 1, under: KeyFixture.kept) == body && next.key(KeyFixture.later) != nil)
    }

    @Test(arguments: [true, false])
    func `a vault of which nothing is known afterwards has keys made meanwhile in both files`(
        isStored: Bool
    ) async throws {
        let keys = try await device.begin()
        let files = try device.files()
        keys.drop([KeyFixture.dropped])
        let count = await device.vault.calls.count
        await device.vault.fail(isStored ? .after(KeyFixture.locked) : .before(KeyFixture.locked), at: count)
        await device.vault.fail(.before(KeyFixture.locked), at: count + 1)
        #expect(await CloakroomError.codeOf { try await keys.rotate() } == .vaultLocked)
        try keys.prepare([KeyFixture.later])
        let sealed = try keys.seal(body, message: 1, under: KeyFixture.later)
        // A second process reads only: its vault is a copy.
        let copy = KeyFixtureCopy(of: device, value: await device.vault.value)
        let opened = try await copy.open()
        #expect(opened.origin == .stored)
        #expect(opened.keys.open(sealed, message: 1, under: KeyFixture.later) == body)
        try await keys.rotate()
        #expect(keys.rotationDelay(at: .now) == nil)
        #expect(await device.finds(KeyFixture.dropped, in: files) == false)
        #expect(try await device.stored().open(sealed, message: 1, under: KeyFixture.later) == body)
    }

    @Test(arguments: [ScriptedVault.Failure.before(KeyFixture.failure), .after(KeyFixture.failure)])
    func `a vault that fails once, at any of its calls, loses nothing`(failure: ScriptedVault.Failure) async throws {
        for number in 2..<12 {
            let device = try KeyFixture()
            var sealed: [(MessageKeyID, [UInt8])] = []
            var keys = try await device.begin([KeyFixture.kept])
            await device.vault.fail(failure, at: number)
            sealed.append((KeyFixture.kept, try keys.seal(body, message: 1, under: KeyFixture.kept)))
            for round in 0..<4 {
                let id = MessageKeyID(conversation: 3, slot: DeadlineSlot(rawValue: Int64(round)))
                let short = MessageKeyID(conversation: 4, slot: DeadlineSlot(rawValue: Int64(round)))
                try keys.prepare([id, short])
                sealed.append((id, try keys.seal(body, message: 1, under: id)))
                let files = try device.files()
                keys.drop([short])
                if await CloakroomError.codeOf({ try await keys.rotate() }) != nil { try await keys.rotate() }
                #expect(await device.finds(short, in: files) == false, "call \(number), round \(round)")
                do { keys = try await device.open().keys } catch { keys = try await device.stored() }
                for (id, sealed) in sealed {
                    #expect(keys.open(sealed, message: 1, under: id) == body, "call \(number), round \(round)")
                }
            }
        }
    }

    @Test func `keys that are made while the vault is slow are in the new file, and those dropped wait for the next`()
        async throws
    {
        let keys = try await device.begin()
        keys.drop([KeyFixture.dropped])
        let storage = StorageDouble(keys)
        let (gate, release) = AsyncStream<Void>.makeStream()
        await device.vault.holdNextStore(until: gate)
        let count = await device.vault.calls.count
        let rotation = Task { try await storage.rotate() }
        while await device.vault.calls.count == count { await Task.yield() }
        try await storage.prepare([KeyFixture.later])
        await storage.drop([KeyFixture.kept])
        let files = try device.files()
        release.yield()
        try await rotation.value
        #expect(await device.finds(KeyFixture.dropped, in: files) == false)
        // Dropped while the file was under way: one of its versions has it.
        #expect(await device.finds(KeyFixture.kept, in: files))
        #expect(await storage.isStale)
        try await storage.rotate()
        #expect(await storage.isStale == false)
        #expect(await device.finds(KeyFixture.kept, in: files) == false)
        let next = try await device.stored()
        #expect(next.key(KeyFixture.later) != nil && next.key(KeyFixture.kept) == nil)
    }

    @Test(arguments: [true, false])
    func `erasing while the vault is slow leaves no file, and no key that opens what the disk keeps`(
        isFailing: Bool
    ) async throws {
        let keys = try await device.begin()
        keys.drop([KeyFixture.dropped])
        let storage = StorageDouble(keys)
        let (gate, release) = AsyncStream<Void>.makeStream()
        await device.vault.holdNextStore(until: gate)
        let count = await device.vault.calls.count
        if isFailing { await device.vault.failNext(.after(KeyFixture.failure)) }
        let rotation = Task { try await storage.rotate() }
        while await device.vault.calls.count == count { await Task.yield() }
        let files = try device.files()
        let erasure = Task { try await storage.erase() }
        while await !device.vault.calls.contains(.erase) { await Task.yield() }
        #expect(await device.vault.value == nil)
        release.yield()
        #expect(await CloakroomError.codeOf { try await rotation.value } == .storeFailed)
        try await erasure.value
        #expect(await device.vault.value == nil)
        #expect(try device.files().isEmpty)
        #expect(await device.finds(KeyFixture.kept, in: files) == false)
        #expect(await CloakroomError.codeOf { try await storage.prepare([KeyFixture.later]) } == .storeFailed)
        #expect(await CloakroomError.codeOf { try await storage.rotate() } == .storeFailed)
        #expect(try await device.open().origin == .new)
    }

    @Test(arguments: [true, false])
    func `a new file that is in its place, or gone, when the vault has its key is no loss`(isInPlace: Bool)
        async throws
    {
        let keys = try await device.begin()
        let sealed = try keys.seal(body, message: 1, under: KeyFixture.kept)
        keys.drop([KeyFixture.dropped])
        await interrupt(keys, at: .vaultReplaced)
        let next = device.place.path("keys/keys.next")
        if isInPlace {
            #expect(rename(next, device.place.path("keys/keys")) == 0)
        } else {
            try FileManager.default.removeItem(atPath: next)
        }
        try await keys.rotate()
        #expect(keys.rotationDelay(at: .now) == nil)
        #expect(try await device.stored().open(sealed, message: 1, under: KeyFixture.kept) == body)
    }

    @Test func `a rotation is due when keys were dropped, and a minute after the last`() async throws {
        let keys = try await device.begin()
        let now = ContinuousClock.now
        #expect(keys.rotationDelay(at: now) == nil)
        keys.drop([KeyFixture.later])
        #expect(keys.rotationDelay(at: now) == nil)
        keys.drop([KeyFixture.dropped])
        #expect(keys.rotationDelay(at: now) == .zero)
        try await keys.rotate(now: now)
        #expect(keys.rotationDelay(at: now) == nil)
        keys.drop([KeyFixture.kept])
        #expect(keys.rotationDelay(at: now + .seconds(20)) == .seconds(40))
        #expect(keys.rotationDelay(at: now + .seconds(60)) == .zero)
        #expect(keys.rotationDelay(at: now + .seconds(600)) == .zero)
    }

    @Test func `that keys were dropped is known to the next process, also when the file no longer has them`()
        async throws
    {
        let keys = try await device.begin()
        let files = try device.files()
        keys.drop([KeyFixture.dropped])
        // Now the file is without the key, under the same master key.
        try keys.prepare([KeyFixture.later])
        let next = try await device.stored()
        #expect(next.key(KeyFixture.dropped) == nil)
        #expect(await device.finds(KeyFixture.dropped, in: files))
        #expect(next.rotationDelay(at: .now) == .zero)
        try await next.rotate()
        #expect(await device.finds(KeyFixture.dropped, in: files) == false)
        #expect(try await device.stored().rotationDelay(at: .now) == nil)
    }

    @Test(.enabled(if: SmallDisk.isPossible))
    func `a full disk keeps no key from being put out of reach`() async throws {
        let disk = try SmallDisk(byteCount: 262_144, at: URL(fileURLWithPath: device.path))
        defer { disk.unmount() }
        let vault = FileKeyVault(folder: URL(fileURLWithPath: device.path).appendingPathComponent("vault"))
        let keys = try await MessageKeys.open(in: device.path, vault: vault, beginsAnew: true).keys
        let many = (0..<500).map { MessageKeyID(conversation: Int64($0), slot: .endless) }
        try keys.prepare([KeyFixture.dropped] + many)
        let sealed = try keys.seal(body, message: 1, under: many[7])
        let former = try device.files()
        try disk.fill()
        #expect(await CloakroomError.codeOf { try keys.prepare([KeyFixture.later]) } == .diskFull)
        #expect(keys.key(KeyFixture.later) == nil)
        keys.drop([KeyFixture.dropped])
        try await keys.rotate()
        let value = try #require(try await vault.load())
        let master = try #require(SealingKey(Array(value.dropFirst())))
        #expect(!former.contains { MessageKeyTable($0, under: master) != nil })
        #expect(keys.open(sealed, message: 1, under: many[7]) == body)
        try disk.empty()
        let (next, origin) = try await MessageKeys.open(in: device.path, vault: vault, beginsAnew: false)
        #expect(origin == .stored && next.open(sealed, message: 1, under: many[7]) == body)
        try next.prepare([KeyFixture.later])
        #expect(try device.place.names(in: "keys") == ["keys", "keys.reserve", "vault"])
    }
}

/// A copy of a device's files, with a vault of its own.
private struct KeyFixtureCopy {
    private let path: String
    private let vault: ScriptedVault

    init(of device: KeyFixture, value: Data?) {
        path = device.place.path("copy")
        vault = ScriptedVault(value)
        #expect(throws: Never.self) { try FileManager.default.copyItem(atPath: device.path, toPath: path) }
    }

    func open() async throws -> (keys: MessageKeys, origin: MessageKeys.Origin) {
        try await MessageKeys.open(in: path, vault: vault, beginsAnew: false)
    }
}

/// An actor that has keys, as a storage does.
private actor StorageDouble {
    private let keys: MessageKeys

    init(_ keys: sending MessageKeys) { self.keys = keys }

    func prepare(_ ids: [MessageKeyID]) throws { try keys.prepare(ids) }
    func drop(_ ids: [MessageKeyID]) { keys.drop(ids) }
    func rotate() async throws { try await keys.rotate() }
    func erase() async throws { try await keys.erase() }
    var isStale: Bool { keys.rotationDelay(at: .now) != nil }
}

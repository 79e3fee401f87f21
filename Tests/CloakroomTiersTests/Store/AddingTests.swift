import CloakroomCrypto
import CloakroomKit
import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

@Suite(.serialized) struct AddingTests {
    @Test func `a photo is on the disk under its digest, for its user alone, when it was added`() async throws {
        let device = try StoreFixture()
        let data = Data([0xFF, 0xD8, 0xFF, 0xE0]) + StoreFixture.bytes("a")
        let id = try await device.add("a", data)
        let file = device.photoFile(data, format: "jpg")
        #expect(try Data(contentsOf: file) == data)
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let folders = try ["", "photos", "incoming", "inbox"].map {
            try FileManager.default.attributesOfItem(atPath: device.folder.appendingPathComponent($0).path)[
                .posixPermissions] as? Int
        }
        #expect(folders == [0o700, 0o700, 0o700, 0o700])
        #expect(try await device.store.photo(named: "a") == id)
        let item = try #require(try await device.store.thumbnails().first)
        #expect(item.id == id)
        #expect(item.byteCount == Int64(data.count))
        #expect(item.thumbnail == ScriptedThumbnailer.thumbnail(of: data).bytes)
        #expect(item.place == .device)
    }

    @Test(arguments: [Data(), Data([7]), StoreFixture.bytes("large", count: 3 << 20), ScriptedThumbnailer.noPicture])
    func `any bytes are stored exactly`(data: Data) async throws {
        let device = try StoreFixture()
        let id = try await device.add("a", data)
        #expect(try await device.read(id) == data)
        device.clock.pass(days: 40)
        _ = await device.store.run()
        #expect(try await device.read(id) == data)
    }

    @Test func `the same bytes under two names are one photo, which stays until both names are gone`() async throws {
        let device = try StoreFixture()
        let first = try await device.add("a", Data("same".utf8))
        let second = try await device.add("b", Data("same".utf8))
        #expect(first == second)
        #expect(device.photoFiles.count == 1)
        try await device.store.remove(name: "a")
        #expect(try await device.read(second) == Data("same".utf8))
        #expect(try await device.store.photo(named: "a") == nil)
        try await device.store.remove(name: "b")
        #expect(device.photoFiles.isEmpty)
        #expect(await CloakroomError.code { _ = try await device.store.open(second) } == .noSuchPhoto)
        #expect(await CloakroomError.code { try await device.store.remove(name: "b") } == .noSuchPhoto)
    }

    @Test func `a name used again with other bytes is an error, and the first photo stays`() async throws {
        let device = try StoreFixture()
        let id = try await device.add("a", Data("one".utf8))
        #expect(await CloakroomError.code { _ = try await device.add("a", Data("two".utf8)) } == .nameTaken)
        #expect(try await device.read(id) == Data("one".utf8))
        #expect(device.photoFiles.count == 1)
        #expect(try await device.store.thumbnails().count == 1)
        #expect(try await device.add("a", Data("one".utf8)) == id)
    }

    @Test func `two photos of equal MD5 are both kept`() async throws {
        // Wang and Yu, "How to Break MD5 and Other Hash Functions" (2005): two blocks of 128 bytes.
        let first = try #require(
            [UInt8](
                hexadecimal: """
                    d131dd02c5e6eec4693d9a0698aff95c2fcab58712467eab4004583eb8fb7f89\
                    55ad340609f4b30283e488832571415a085125e8f7cdc99fd91dbdf280373c5b\
                    d8823e3156348f5bae6dacd436c919c6dd53e2b487da03fd02396306d248cda0\
                    e99f33420f577ee8ce54b67080a80d1ec69821bcb6a8839396f9652b6ff72a70
                    """.utf8))
        var second = first
        for (index, byte) in [(19, 0x07), (45, 0xF1), (59, 0x72), (83, 0x34), (109, 0x28), (123, 0xAB)] {
            second[index] = UInt8(byte)
        }
        let isCollision = MD5.hash(first) == MD5.hash(second)
        try #require(isCollision)
        let device = try StoreFixture()
        let ids = [try await device.add("first", Data(first)), try await device.add("second", Data(second))]
        #expect(ids[0] != ids[1])
        device.clock.pass(days: 40)
        let report = await device.store.run()
        #expect(report.evicted == 1)
        #expect(report.failures.map(\.error.code) == [.photoCollision])
        #expect(try await device.read(ids[0]) == Data(first))
        #expect(try await device.read(ids[1]) == Data(second))
    }

    @Test func `a photo that has left the device is there again when it is added again`() async throws {
        let device = try StoreFixture()
        let ids = try await device.addOld("a")
        _ = await device.store.run()
        #expect(device.photoFiles.isEmpty)
        #expect(try await device.add("again", StoreFixture.bytes("a")) == ids[0])
        device.remote.change { $0.objects = [:] }
        #expect(try await device.read(ids[0]) == device.bytes["a"])
    }

    @Test func `a damaged file is replaced when the photo is added again`() async throws {
        let device = try StoreFixture()
        let id = try await device.add("a")
        var damaged = StoreFixture.bytes("a")
        damaged.flipBit()
        try damaged.write(to: device.photoFile(StoreFixture.bytes("a")))
        #expect(try await device.add("a") == id)
        #expect(try await device.read(id) == device.bytes["a"])
    }

    @Test func `a file that cannot be read is an error, and nothing stays of it`() async throws {
        let device = try StoreFixture()
        let absent = device.files.appendingPathComponent("absent")
        let now = device.clock.now
        #expect(
            await CloakroomError.code { try await device.store.add(absent, name: "a", takenAt: now) }
                == .unreadableFile)
        #expect(
            await CloakroomError.code { try await device.store.add(device.files, name: "a", takenAt: now) }
                == .unreadableFile)
        let incoming = device.folder.appendingPathComponent("incoming").path
        #expect(try FileManager.default.contentsOfDirectory(atPath: incoming).isEmpty)
        #expect(try await device.store.thumbnails().isEmpty)
    }

    @Test func `a photo without a thumbnail gets it later when the making was cancelled`() async throws {
        let gate = CancellingGate()
        let device = try StoreFixture(thumbnailer: ScriptedThumbnailer { _ in try await gate.pass() })
        let id = try await device.add("a")
        #expect(try await device.store.thumbnails().first?.thumbnail == nil)
        await gate.open()
        _ = await device.store.run()
        #expect(try await device.store.thumbnails().first?.thumbnail != nil)
        device.clock.pass(days: 31)
        #expect(await device.store.run().evicted == 1)
        #expect(try await device.place(of: id) == .cold)
    }

    private actor CancellingGate {
        private var isOpen = false
        func open() { isOpen = true }
        func pass() throws { if !isOpen { throw CancellationError() } }
    }

    @Test func `a process that has no lock only reads, and leaves photos in the inbox`() async throws {
        let device = try StoreFixture()
        let id = try await device.add("a")
        let clock = device.clock
        let reader = try TieredPhotoStore(
            folder: device.folder, tier: device.tier, thumbnailer: device.thumbnailer, policy: RetentionPolicy(),
            conditions: device.conditions, clock: { clock.now })
        #expect(await reader.isWriter == false)
        #expect(try await reader.thumbnails().map(\.id) == [id])
        let file = try await reader.open(id)
        #expect(try Data(contentsOf: file.url) == device.bytes["a"])
        let added = try device.write("b", Data("b".utf8))
        let now = device.clock.now
        #expect(await CloakroomError.code { try await reader.add(added, name: "b", takenAt: now) } == .storeInUse)
        #expect(await reader.run().stoppedBy?.code == .storeInUse)
        try await TieredPhotoStore.leave(added, name: "b", takenAt: now, inInboxOf: device.folder)
        try await TieredPhotoStore.leave(added, name: "a", takenAt: now, inInboxOf: device.folder)
        _ = await device.store.run()
        let named = try #require(try await device.store.photo(named: "b"))
        #expect(try await device.read(named) == Data("b".utf8))
        #expect(try await device.store.photo(named: "a") == id)
        let inbox = device.folder.appendingPathComponent("inbox").path
        #expect(try FileManager.default.contentsOfDirectory(atPath: inbox).isEmpty)
        try await device.store.releaseLock()
        try await reader.add(added, name: "c", takenAt: now)
        #expect(await reader.isWriter)
    }

    @Test func `a photo that is nowhere else has no thumbnail when none could be made, and none is looked for`()
        async throws
    {
        let device = try StoreFixture(
            thumbnailer: ScriptedThumbnailer { _ in throw CloakroomError(.timedOut, "not now") })
        let id = try await device.add("a")
        #expect(try await device.store.thumbnail(of: id) == nil)
        #expect(device.remote.requestCount == 0)
    }
}

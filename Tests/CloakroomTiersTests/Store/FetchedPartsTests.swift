import CloakroomCrypto
import CloakroomKit
import CloakroomKitTestSupport
@testable import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

extension StoreFixture {
    var incoming: URL { folder.appendingPathComponent("incoming", isDirectory: true) }
    var incomingNames: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: incoming.path).sorted() }
    }

    /// Leaves files as a fetch does that did not end.
    func leavePart(_ hash: String, _ files: [String]? = nil) throws {
        for file in files ?? Self.partNames(hash) { try Data().write(to: incoming.appendingPathComponent(file)) }
    }

    static func partNames(_ hashes: String...) -> [String] {
        let names = hashes.flatMap { hash in
            let hidden = PartialFile.hiddenName(of: "fetch-\(hash)")
            return ["fetch-\(hash)", "\(hidden).partial", "\(hidden).tag", "\(hidden).asset"]
        }
        return names.sorted()
    }
}

/// What fetches that did not end leave on the device, and how long.
@Suite(.serialized) struct FetchedPartsTests {
    private static func hash(_ name: String) -> String { MD5.hash(StoreFixture.bytes(name)).hexadecimal }

    @Test func `what had come of a photo goes when the photo is on the device again`() async throws {
        let device = try StoreFixture()
        let lost = try await device.addOld("a", "b", "lost")[2]
        #expect(await device.store.run().evicted == 3)
        #expect(try await device.read(lost) == device.bytes["lost"])
        try await device.add("a")
        for name in ["a", "b", "lost"] { try device.leavePart(Self.hash(name)) }
        // Damaged on the device, so that it will be fetched.
        try FileManager.default.removeItem(at: device.photoFile(StoreFixture.bytes("lost")))
        try await device.relaunch()
        #expect(try device.incomingNames == StoreFixture.partNames(Self.hash("b"), Self.hash("lost")))
        #expect(try await device.read(lost) == device.bytes["lost"])
    }

    @Test func `a run removes what no photo needs, and nothing of one that is being fetched`() async throws {
        let gate = Gate()
        let device = try StoreFixture(gate: { call, moment in
            if call.kind == .fetch, moment == .before { await gate.pass() }
        })
        let id = try await device.addOld("a")[0]
        #expect(await device.store.run().evicted == 1)
        let store = device.store
        let opening = Task { try await store.open(id) }
        await gate.arrival()
        try device.leavePart("", ["fetch-x"])
        try device.leavePart(Self.hash("a"))
        #expect(await store.run().stoppedBy == nil)
        #expect(try device.incomingNames == (StoreFixture.partNames(Self.hash("a")) + ["fetch-x"]).sorted())
        await gate.open()
        #expect(try Data(contentsOf: await opening.value.url) == device.bytes["a"])
        #expect(await store.run().stoppedBy == nil)
        #expect(try device.incomingNames == [])
    }

    @Test func `while the catalog is made anew, what had come of photos stays`() async throws {
        let device = try StoreFixture()
        let id = try await device.addOld("a")[0]
        #expect(await device.store.run().evicted == 1)
        device.tier.script.add(.half(.scriptedOutage), on: .fetch)
        #expect(await CloakroomError.code { _ = try await device.store.open(id) } == .unreachable)
        try await device.destroyCatalog()
        try await device.relaunch()
        #expect(try device.incomingNames == ["fetch-\(Self.hash("a"))"])
        #expect(await device.store.run().stoppedBy == nil)
        #expect(try await device.read("a") == device.bytes["a"])
    }

    @Test func `what came of photos that nobody knows goes at the next start`() async throws {
        let device = try StoreFixture()
        _ = try await device.addOld("a")
        #expect(await device.store.run().evicted == 1)
        for name in ["a", "strange"] { try device.leavePart(Self.hash(name)) }
        try device.leavePart("", ["fetch-", ".cloakroom-0011.partial", ".cloakroom-"])
        try await device.relaunch()
        #expect(try device.incomingNames == StoreFixture.partNames(Self.hash("a")))
    }

    @Test func `a fetch that arrives leaves nothing beside the photo`() async throws {
        let device = try StoreFixture()
        let id = try await device.addOld("a")[0]
        #expect(await device.store.run().evicted == 1)
        #expect(try await device.read(id) == device.bytes["a"])
        try await device.store.releaseLock()
        #expect(try device.incomingNames == [])
        #expect(device.photoFiles.count == 1)
    }

    @Test func `a fetch that fails before its first byte leaves nothing`() async throws {
        let device = try StoreFixture()
        let id = try await device.addOld("a")[0]
        #expect(await device.store.run().evicted == 1)
        device.tier.script.add(.failBefore(.scriptedOutage), on: .fetch)
        #expect(await CloakroomError.code { _ = try await device.store.open(id) } == .unreachable)
        #expect(try device.incomingNames == [])
    }

    /// - Parameter fault: how the fetch ends then; `nil`: well.
    @Test(arguments: [TierScript.Fault.half(.scriptedOutage), nil])
    func `what comes of a photo that is removed meanwhile goes when its fetch ends`(fault: TierScript.Fault?)
        async throws
    {
        let gate = Gate()
        let device = try StoreFixture(gate: { call, moment in
            if call.kind == .fetch, moment == .before { await gate.pass() }
        })
        let id = try await device.addOld("a")[0]
        #expect(await device.store.run().evicted == 1)
        if let fault { device.tier.script.add(fault, on: .fetch) }
        let store = device.store
        let opening = Task { await CloakroomError.code { _ = try await store.open(id) } }
        await gate.arrival()
        try device.leavePart(Self.hash("a"))
        try await store.remove(id)
        await gate.open()
        #expect(await opening.value == (fault == nil ? .noSuchPhoto : .unreachable))
        #expect(try device.incomingNames == [])
        #expect(device.photoFiles == [])
    }

    @Test func `what had come of a photo goes with it`() async throws {
        let device = try StoreFixture()
        let ids = try await device.addOld("a", "b")
        _ = await device.store.run()
        for id in ids {
            device.tier.script.add(.half(.scriptedOutage), on: .fetch)
            #expect(await CloakroomError.code { _ = try await device.store.open(id) } == .unreachable)
        }
        #expect(try device.incomingNames.count == 2)
        // Another one's, such as the kit has beside what it writes.
        for name in ["a", "b"] { try device.leavePart(Self.hash(name)) }
        try await device.store.remove(ids[0])
        #expect(try device.incomingNames == StoreFixture.partNames(Self.hash("b")))
        try await device.store.remove(name: "b")
        #expect(try device.incomingNames == [])
    }
}

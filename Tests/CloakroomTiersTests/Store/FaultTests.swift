import CloakroomCrypto
import CloakroomKit
@testable import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

/// Faults of the device and of the account.
@Suite(.serialized) struct FaultTests {
    @Test func `a catalog that is damaged is moved aside and made anew, and no photo is lost`() async throws {
        let device = try StoreFixture()
        let old = try await device.addOld("old")[0]
        try await device.add("young")
        _ = await device.store.run()
        #expect(try await device.place(of: old) == .cold)
        try await device.destroyCatalog()
        // Until it is made anew.
        #expect(try await device.store.thumbnails().isEmpty)
        device.tier.script.add(.failBefore(.scriptedOutage), on: .list)
        #expect(await device.store.run().stoppedBy?.code == .unreachable)
        #expect(await device.store.run().stoppedBy == nil)
        for name in ["old", "young"] {
            let id = try #require(try await device.store.photo(named: name))
            #expect(try await device.read(id) == device.bytes[name])
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: device.folder.path)
        #expect(names.contains { $0.hasPrefix("catalog.sqlite.corrupt-") })
    }

    @Test(arguments: [
        CloakroomError.Code.userDisabled, .subscriptionRequired, .storageQuotaExceeded, .unauthorized,
    ])
    func `an account that may not store ends the run before anything is sent`(code: CloakroomError.Code) async throws {
        let device = try StoreFixture()
        let id = try await device.addOld("a")[0]
        device.tier.setUnavailable(CloakroomError(code, "the account may not"))
        let report = await device.store.run()
        #expect(report.stoppedBy?.code == code)
        #expect(device.remote.requests(.put) == 0)
        #expect(try await device.read(id) == device.bytes["a"])
    }

    @Test func `credentials that cannot read prove nothing, and the photo stays`() async throws {
        let device = try StoreFixture()
        let id = try await device.addOld("a")[0]
        device.tier.script.add(.failBefore(CloakroomError(.accessDenied, "no right to read")), on: .verify)
        let report = await device.store.run()
        #expect(report.evicted == 0)
        #expect(report.stoppedBy?.code == .accessDenied)
        #expect(try await device.place(of: id) == .device)
        #expect(device.photoFiles.count == 1)
    }

    @Test func `two devices share photos, and one that removes them deletes only what the other does not have`()
        async throws
    {
        let first = try StoreFixture(device: "first")
        let second = try StoreFixture(remote: first.remote, device: "second")
        try await first.add("shared", Data("shared bytes".utf8))
        try await first.add("own", Data("own bytes".utf8))
        let shared = try await second.add("shared", Data("shared bytes".utf8))
        first.clock.pass(days: 31)
        #expect(await first.store.run().evicted == 2)
        #expect(await second.store.run().evicted == 1)
        try await first.store.remove(name: "shared")
        try await first.store.remove(name: "own")
        #expect(await first.store.run().deleted == 0)
        first.clock.pass(days: 1.9)
        #expect(await first.store.run().deleted == 0)
        first.clock.pass(days: 0.2)
        #expect(await first.store.run().deleted == 1)
        #expect(first.remote.account().objects.count == 1)
        #expect(first.remote.account().thumbnails.count == 1)
        #expect(try await second.read(shared) == Data("shared bytes".utf8))
        // The deletion may be on its way for so long.
        first.clock.pass(days: 8.1)
        _ = await first.store.run()
        #expect(first.remote.account().documents.keys.allSatisfy { !$0.hasPrefix("intent") })
    }

    @Test func `a device that was lost is made anew from the cold tier, byte for byte`() async throws {
        let first = try StoreFixture(device: "first")
        for number in 0..<25 { try await first.add("photo\(number)") }
        first.clock.pass(days: 31)
        #expect(await first.store.run().evicted == 25)
        let second = try StoreFixture(remote: first.remote, device: "second")
        let report = try await second.store.rebuildCatalog()
        #expect(report.photos == 25)
        for (name, bytes) in first.bytes {
            let id = try #require(try await second.store.photo(named: name))
            #expect(try await second.store.thumbnail(of: id) == ScriptedThumbnailer.thumbnail(of: bytes).bytes)
            #expect(try await second.read(id) == bytes)
        }
    }
}

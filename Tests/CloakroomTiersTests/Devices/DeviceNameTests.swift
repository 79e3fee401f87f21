import CloakroomKit
import CloakroomScriptedTier
import Foundation
import Testing

@testable import CloakroomTiers

/// The name of a device, in a folder that several processes use.
@Suite(.serialized) struct DeviceNameTests {
    private func catalog(of device: StoreFixture) throws -> Catalog {
        try Catalog(at: device.folder.appendingPathComponent("catalog.sqlite"), isWriter: false, on: device.clock.now)
    }

    @Test func `a store that gets the lock back goes on under the name that another process has given the device`()
        async throws
    {
        let device = try StoreFixture()
        try await device.add("a")
        _ = await device.store.run()
        let old = await device.store.device
        try await device.store.releaseLock()
        let other = try device.secondProcess()
        _ = await other.run()
        try await other.becomeNewDevice()
        let new = await other.device
        try await other.releaseLock()
        #expect(new != old)
        #expect(try await device.store.devices().first { $0.isThisOne }?.id == new)
        try await device.add("b")
        #expect(await device.store.device == new)
        _ = await device.store.run()
        let names = device.remote.account().documents.keys.compactMap { DeviceDocumentName($0) }
        let writers = names.compactMap { name in if case .snapshot(let writer, _) = name { writer } else { nil } }
        #expect(Set(writers) == [new])
        #expect(await CloakroomError.code { try await device.store.dismissDevice(new) } == .invalidRequest)
    }

    @Test func `a process that only reads gives the device no name`() async throws {
        let device = try StoreFixture()
        let catalog = try catalog(of: device)
        try catalog.set(.device, to: nil)
        let reader = try device.secondProcess()
        #expect(await reader.isWriter == false)
        #expect(try catalog.setting(.device) == nil)
        try await device.store.releaseLock()
        try await reader.setPolicy(RetentionPolicy(period: .forever))
        #expect(try catalog.setting(.device) == (await reader.device.rawValue))
    }
}

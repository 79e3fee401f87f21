import CloakroomKit
import Foundation
import Testing

@testable import CloakroomTiers

/// What a store takes for the conditions of its runs.
struct DeviceConditionsTests {
    @Test func `a store that is given no conditions has those of the device`() throws {
        let device = try StoreFixture()
        let store = try TieredPhotoStore(
            folder: device.files.appendingPathComponent("store"), tier: device.tier, thumbnailer: device.thumbnailer)
        let isSame = type(of: store.conditions) == type(of: DeviceConditions.ofThisDevice)
        #expect(isSame)
        #expect(device.photoFiles == [])
    }
}

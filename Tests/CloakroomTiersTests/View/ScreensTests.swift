import CloakroomKit
import CloakroomScriptedTier
import Foundation
import Testing

@testable import CloakroomTiers

/// The view models on a real store, in front of a scripted cold tier.
@MainActor
@Suite(.serialized) struct ScreensTests {
    private let english = TierLanguage(locale: Locale(identifier: "en_US"), timeZone: .gmt)

    private func viewer(_ device: StoreFixture) async throws -> PhotoViewerModel {
        let grid = PhotoGridModel(store: device.store)
        await grid.refresh()
        return PhotoViewerModel(store: device.store, item: try #require(grid.state.items.first))
    }

    @Test func `a photo that is shown stays on the device, and may leave once it was dismissed`() async throws {
        let device = try StoreFixture()
        _ = try await device.addOld("a")
        #expect(await device.store.run().evicted == 1)
        let model = try await viewer(device)
        await model.open()
        guard case .shown(let file) = model.state.phase else {
            Issue.record("\(model.state.phase)")
            return
        }
        #expect(try Data(contentsOf: file.url) == device.bytes["a"])

        // Long enough for the view not to hold it.
        device.clock.pass(days: 8)
        #expect(await device.store.freeSpace(.perform).evicted == 0)
        #expect(device.photoFiles.count == 1)
        model.dismiss()
        #expect(await device.store.freeSpace(.perform).evicted == 1)
        #expect(device.photoFiles.isEmpty)
    }

    @Test func `offline the thumbnail stays, and a tap shows the photo once there is a network`() async throws {
        let device = try StoreFixture()
        _ = try await device.addOld("a")
        #expect(await device.store.run().evicted == 1)
        let model = try await viewer(device)
        device.tier.script.add(.failBefore(.scriptedOutage), on: .fetch)
        await model.open()
        #expect(model.state.message(in: english) == "Offline, tap to retry")
        #expect(model.state.thumbnail != nil)

        await model.retry()
        guard case .shown = model.state.phase else {
            Issue.record("\(model.state.phase)")
            return
        }
        #expect(model.state.message(in: english) == nil)
    }

    @Test func `a photo that is gone from the cold tier is missing, in the viewer and in the grid`() async throws {
        let device = try StoreFixture()
        _ = try await device.addOld("a")
        #expect(await device.store.run().evicted == 1)
        device.remote.change { $0.objects = [:] }
        let model = try await viewer(device)
        await model.open()
        #expect(model.state.message(in: english) == "This photo is not in the cloud any more")
        #expect(!model.state.canRetry)
        #expect(model.state.thumbnail != nil)
        let grid = PhotoGridModel(store: device.store)
        await grid.refresh()
        #expect(grid.state.items.map(\.badges) == [[.missing]])
    }

    @Test func `the grid shows what a run has moved once it is read anew`() async throws {
        let device = try StoreFixture()
        let ids = try await device.addOld("a", "b")
        let grid = PhotoGridModel(store: device.store)
        await grid.refresh()
        await grid.setPinned(true, ids[0])
        #expect(await device.store.run().evicted == 1)
        await grid.refresh()
        let badges = Dictionary(uniqueKeysWithValues: grid.state.items.map { ($0.id, $0.badges) })
        #expect(badges == [ids[0]: [.onDevice, .pinned], ids[1]: [.inCloud]])
    }

    @Test func `the settings free space after a preview, and bring everything back`() async throws {
        let device = try StoreFixture()
        for number in 0..<10 { try await device.add("photo\(number)") }
        let model = StorageSettingsModel(store: device.store)
        await model.refresh()
        #expect(model.state.bars.map(\.fraction) == [1])

        await model.previewFreeingSpace()
        #expect(english.text(of: model.state.task) == "10 photos will leave this device. That frees 41 kB.")
        #expect(device.photoFiles.count == 10)
        await model.freeSpace()
        #expect(english.text(of: model.state.task) == "10 photos left this device. That freed 41 kB.")
        #expect(model.state.remote?.photoCount == 10)
        #expect(model.state.remote?.byteCount == 30_000)
        #expect(model.state.bars.first.map { $0.totalBytes - $0.usedBytes } == 30_000)

        await model.previewDownload()
        #expect(
            english.text(of: model.state.task)
                == "10 photos will be downloaded, and stay on this device. They take 30 kB.")
        await model.downloadAll()
        #expect(english.text(of: model.state.task) == "10 photos downloaded, 30 kB.")
        #expect(model.state.policy.period == .forever)
        #expect(device.photoFiles.count == 10)

        await model.previewFreeingSpace()
        #expect(
            english.text(of: model.state.task) == "All photos stay on this device. Choose another period first.")
    }
}

import CloakroomKit
import CloakroomKitTestSupport
import CloakroomScriptedTier
import Foundation
import Testing

@testable import CloakroomTiers

@MainActor
@Suite(.serialized) struct StorageSettingsModelTests {
    private let english = TierLanguage(locale: Locale(identifier: "en_US"), timeZone: .gmt)

    private func model(
        gates: [String: Gate] = [:], _ change: (inout ScriptedPhotoStore.Script) -> Void = { _ in }
    ) -> (StorageSettingsModel, ScriptedPhotoStore) {
        var script = ScriptedPhotoStore.Script()
        change(&script)
        let store = ScriptedPhotoStore(script, gates: gates)
        return (StorageSettingsModel(storing: store), store)
    }

    private func report(evicted: Int, bytes: Int64, kept: Int = 0, stoppedBy: CloakroomError? = nil) -> TieringReport {
        var report = TieringReport()
        report.evicted = evicted
        report.evictedBytes = bytes
        report.kept = kept
        report.stoppedBy = stoppedBy
        return report
    }

    @Test func `shows how much of the library is on this device, and how much of the quota is used`() async {
        let (model, _) = model {
            $0.usage.hotBytes = 1_100_000_000
            $0.usage.catalogBytes = 100_000_000
            $0.usage.coldBytes = 15_300_000_000
            $0.plan = DownloadPlan(photoCount: 90, byteCount: 14_800_000_000, availableBytes: nil)
            $0.availability.quota = TierAvailability.Quota(usedBytes: 15_300_000_000, totalBytes: 50_000_000_000)
        }
        #expect(model.state.bars.isEmpty)
        await model.refresh()
        #expect(
            model.state.bars.map(english.text(of:)) == [
                "1.2 GB of 16 GB on this device", "15.3 GB of 50 GB in the cloud",
            ])
        #expect(model.state.bars.map(\.fraction) == [0.075, 0.306])
    }

    @Test func `shows one bar where the cold tier tells no quota, and an empty one without photos`() async {
        let (model, _) = model()
        await model.refresh()
        #expect(model.state.bars == [UsageBar(kind: .library, usedBytes: 0, totalBytes: 0)])
        #expect(model.state.bars.first?.fraction == 0)
    }

    @Test func `says why the cold tier cannot be used, and asks it for nothing more`() async {
        let (model, store) = model { $0.availability.failure = CloakroomError(.storageQuotaExceeded, "full") }
        await model.refresh()
        #expect(model.state.unavailability.map(english.failure) == "Your storage in the cloud is full")
        #expect(model.state.devices == nil)
        #expect(!store.calls.contains("devices"))
    }

    @Test func `keeps the rest of the policy when another period is chosen`() async {
        let (model, store) = model {
            $0.policy = RetentionPolicy(period: .month, hotByteLimit: 1 << 30, uploadTime: .whenDue)
        }
        await model.choose(.quarter)
        let chosen = RetentionPolicy(period: .quarter, hotByteLimit: 1 << 30, uploadTime: .whenDue)
        #expect(model.state.policy == chosen)
        #expect(await store.policy == chosen)
        #expect(!store.calls.contains { $0.hasPrefix("freeSpace") })
    }

    @Test func `shows the old period when the new one could not be kept`() async {
        let (model, store) = model()
        store.change { $0.failure = CloakroomError(.diskFull, "no space is left for the catalog") }
        await model.choose(.week)
        #expect(model.state.policy.period == .month)
        #expect(model.state.failure?.code == .diskFull)
    }

    @Test func `a period chosen while the settings are read is not overwritten by what was read before`() async {
        let gate = Gate()
        let (model, _) = model(gates: ["policy": gate])
        let refresh = Task { await model.refresh() }
        await gate.arrival()
        let choice = Task { await model.choose(.forever) }
        await gate.letLastPass(of: 2)
        await choice.value
        await gate.open()
        await refresh.value
        #expect(model.state.policy.period == .forever)
    }

    @Test func `what was read before a period was chosen is not shown, and is read again`() async {
        let gate = Gate()
        let (model, store) = model(gates: ["policy": gate]) { $0.usage.hotBytes = 5 }
        let states = model.states(buffering: .unbounded)
        let refresh = Task { await model.refresh() }
        await gate.arrival()
        let choice = Task { await model.choose(.forever) }
        await gate.letLastPass(of: 2)
        await choice.value
        await gate.open()
        await refresh.value
        var periods: [RetentionPolicy.Period] = []
        for await state in states {
            if state.policy.period != periods.last { periods.append(state.policy.period) }
            if state == model.state { break }
        }
        #expect(periods == [.month, .forever])
        #expect(model.state.usage?.hotBytes == 5)
        #expect(store.count(of: "usage") == 2)
    }

    @Test func `an alarm dismissed while the settings are read does not come back`() async {
        let gate = Gate()
        let alarm = TierAlarm(kind: .missing, photoCount: 1, example: "", since: Date(milliseconds: 0))
        let (model, _) = model(gates: ["alarms": gate]) { $0.alarms = [alarm] }
        let refresh = Task { await model.refresh() }
        await gate.arrival()
        let dismissal = Task { await model.dismissAlarm(.missing) }
        await gate.letLastPass(of: 2)
        await dismissal.value
        await gate.open()
        await refresh.value
        #expect(model.state.alarms.isEmpty)
        #expect(model.state.usage != nil)
    }

    @Test func `reading the settings once needs no second time`() async {
        let (model, store) = model()
        await model.refresh()
        #expect(store.count(of: "usage") == 1)
    }

    @Test func `frees nothing before the user has seen what that does`() async {
        let (model, store) = model { $0.preview = report(evicted: 0, bytes: 0, kept: 3) }
        await model.freeSpace()
        #expect(store.calls.isEmpty)

        await model.previewFreeingSpace()
        #expect(model.state.task.canContinue == false)
        #expect(english.text(of: model.state.task) == "No photo can leave this device now. 3 photos stayed.")
        await model.freeSpace()
        model.dismissTask()
        await model.freeSpace()
        #expect(!store.calls.contains("freeSpace perform"))
    }

    @Test func `says that nothing can leave while all photos are kept, or while there is an alarm`() async {
        let alarm = TierAlarm(kind: .expiring, photoCount: 2, example: "", since: Date())
        let (model, store) = model {
            $0.preview = report(evicted: 0, bytes: 0, stoppedBy: CloakroomError(.notAllowedNow, "for ever"))
        }
        await model.previewFreeingSpace()
        #expect(
            english.text(of: model.state.task) == "All photos stay on this device. Choose another period first.")
        store.change {
            $0.preview = TieringReport()
            $0.preview.evicted = 5
            $0.preview.alarms = [alarm]
        }
        await model.previewFreeingSpace()
        await model.freeSpace()
        #expect(
            english.text(of: model.state.task)
                == "No photo can leave this device now. Something is wrong with the photos in the cloud.")
        #expect(!store.calls.contains("freeSpace perform"))
    }

    @Test func `frees space after the preview, shows each count, and reads the usage again`() async {
        let gate = Gate()
        let (model, store) = model(gates: ["count": gate]) {
            $0.preview = report(evicted: 2, bytes: 300_000)
            $0.freed = report(evicted: 1, bytes: 150_000, kept: 1)
        }
        await model.previewFreeingSpace()
        store.change { $0.counts = [(1, 2), (2, 2)] }
        #expect(english.text(of: model.state.task) == "2 photos will leave this device. That frees 300 kB.")
        let states = model.states(buffering: .unbounded)
        let freeing = Task { await model.freeSpace() }
        var seen: [String] = []
        for await state in states {
            if let text = english.text(of: state.task), text != seen.last { seen.append(text) }
            switch state.task {
            case .freeing(let count) where count.done > 0: await gate.letOnePass()
            case .freed: break
            default: continue
            }
            if case .freed = state.task { break }
        }
        await freeing.value
        #expect(
            seen == [
                "2 photos will leave this device. That frees 300 kB.", "Loading…", "1 of 2 photos", "2 of 2 photos",
                "1 photo left this device. That freed 150 kB. 1 photo stayed.",
            ])
        #expect(store.count(of: "freeSpace perform") == 1)
        #expect(store.count(of: "usage") == 2)
    }

    @Test func `downloads nothing without room for all of it`() async {
        let (model, store) = model {
            $0.plan = DownloadPlan(photoCount: 80, byteCount: 12_000_000_000, availableBytes: 3_000_000_000)
        }
        await model.previewDownload()
        #expect(
            english.text(of: model.state.task) == "All photos take 12 GB. Only 3 GB are free on this device.")
        await model.downloadAll()
        #expect(!store.calls.contains("restoreAll"))
    }

    @Test func `downloads all photos, and shows the policy that the store has then`() async {
        let (model, store) = model {
            $0.plan = DownloadPlan(photoCount: 80, byteCount: 12_000_000, availableBytes: 12_000_000)
            $0.restored.restored = 79
            $0.restored.restoredBytes = 11_850_000
            $0.restored.missing = 1
        }
        await model.previewDownload()
        #expect(
            english.text(of: model.state.task)
                == "80 photos will be downloaded, and stay on this device. They take 12 MB.")
        store.change { $0.policy.period = .forever }
        await model.downloadAll()
        #expect(
            english.text(of: model.state.task)
                == "79 photos downloaded, 11.8 MB. 1 photo is not in the cloud any more.")
        #expect(model.state.policy.period == .forever)
    }

    @Test func `stops a download, and says how far it came`() async {
        let gate = Gate()
        let (model, _) = model(gates: ["count": gate]) {
            $0.plan = DownloadPlan(photoCount: 2, byteCount: 2, availableBytes: nil)
            $0.counts = [(0, 2), (1, 2), (2, 2)]
        }
        await model.previewDownload()
        let download = Task { await model.downloadAll() }
        await gate.arrival()
        await model.previewFreeingSpace()
        model.dismissTask()
        #expect(model.state.task.isUnderWay)
        model.stop()
        await gate.open()
        await download.value
        #expect(english.text(of: model.state.task) == "1 photo downloaded, 0 bytes. Stopped: Stopped.")
    }

    @Test(.timeLimit(.minutes(1))) func `stops at once what waits for a run`() async throws {
        let gate = Gate()
        let device = try StoreFixture(gate: { call, moment in
            if call.kind == .put, moment == .before { await gate.pass() }
        })
        try await device.add("a")
        let store = device.store
        let model = StorageSettingsModel(store: store)
        await model.previewFreeingSpace()
        let run = Task { await store.run() }
        await gate.arrival()
        let freeing = Task { await model.freeSpace() }
        try await until { await store.waiters.count == 1 }
        model.stop()
        for await state in model.states() where !state.task.isUnderWay { break }
        #expect(model.state.task == .freed(report(evicted: 0, bytes: 0, stoppedBy: .cancelled)))
        await gate.open()
        await freeing.value
        #expect(await run.value.stoppedBy == nil)
    }

    @Test func `shows alarms and what to do, until the user goes on`() async {
        let alarm = TierAlarm(kind: .missing, photoCount: 1, example: "photos/u_1/00.dat", since: Date())
        let (model, store) = model { $0.alarms = [alarm] }
        await model.refresh()
        #expect(model.state.alarms == [alarm])
        #expect(english.title(of: alarm) == "1 photo was in the cloud and is not there any more")
        await model.dismissAlarm(.missing)
        #expect(model.state.alarms.isEmpty)
        #expect(store.calls.contains("dismissAlarm missing"))
    }

    @Test func `uploads photos to another account only after the user has seen how many`() async {
        let alarm = TierAlarm(kind: .accountChanged, photoCount: 0, example: "", since: Date())
        let change = AccountChange(
            account: TierIdentity("cloud:b"), photoCount: 3, byteCount: 450_000, unreachableCount: 1)
        let (model, store) = model {
            $0.alarms = [alarm]
            $0.accountChange = change
        }
        await model.refresh()
        await model.acceptAccount()
        await model.previewAccountChange()
        #expect(model.state.task == StorageTask.confirmAccount(change))
        #expect(model.state.task.canContinue)
        let question = """
            3 photos of the former account will be uploaded to the account that is signed in now. They take 450 kB. \
            1 photo that is in the former account alone cannot be opened with this one.
            """
        #expect(english.text(of: model.state.task) == question)
        model.dismissTask()
        await model.acceptAccount()
        #expect(!store.calls.contains { $0.hasPrefix("acceptAccount") })
        #expect(model.state.alarms == [alarm])

        await model.previewAccountChange()
        await model.acceptAccount()
        #expect(store.count(of: "acceptAccount cloud:b") == 1)
        #expect(model.state.alarms.isEmpty)
        #expect(model.state.task == StorageTask.none)
    }

    @Test func `has nothing to confirm where the photos are those of the account that is signed in`() async {
        let (model, store) = model()
        await model.previewAccountChange()
        #expect(model.state.task == StorageTask.none)
        #expect(store.calls.contains("accountChange"))
    }

    @Test func `removes a lost device once the user has confirmed it, and never this one`() async throws {
        let this = try #require(DeviceID(rawValue: "a")), lost = try #require(DeviceID(rawValue: "b"))
        let (model, store) = model {
            $0.devices = [this, lost].map {
                PhotoDevice(
                    id: $0, isThisOne: $0 == this, lastPublished: Date(milliseconds: 1_766_577_600_000),
                    snapshotBytes: 1)
            }
        }
        model.previewRemoval(of: lost)
        #expect(model.state.task == StorageTask.none)
        await model.refresh()
        #expect(model.state.devices?.map(english.text(of:)) == ["This device", "Last seen December 24, 2025"])
        model.previewRemoval(of: this)
        #expect(model.state.task == StorageTask.none)
        model.previewRemoval(of: lost)
        #expect(model.state.task.canContinue)
        #expect(
            english.text(of: model.state.task)
                == "Last seen December 24, 2025. Remove only a device that you do not have any more.")
        model.dismissTask()
        await model.removeDevice()
        #expect(!store.calls.contains("dismissDevice b"))
        model.previewRemoval(of: lost)
        await model.removeDevice()
        #expect(store.calls.filter { $0.hasPrefix("dismissDevice") } == ["dismissDevice b"])
        #expect(model.state.devices?.map(\.id) == [this])
        #expect(model.state.task == StorageTask.none)
    }

    @Test func `keeps what it shows when reading fails, and says why`() async {
        let (model, store) = model { $0.usage.hotBytes = 5 }
        await model.refresh()
        store.change { $0.failure = CloakroomError(.storeFailed, "the catalog cannot be read") }
        await model.refresh()
        #expect(model.state.usage?.hotBytes == 5)
        #expect(model.state.failure?.code == .storeFailed)
        store.change { $0.failure = nil }
        await model.refresh()
        #expect(model.state.failure == nil)
    }
}

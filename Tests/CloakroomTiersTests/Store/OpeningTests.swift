import CloakroomCrypto
import CloakroomKit
@testable import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

@Suite(.serialized) struct OpeningTests {
    private func evicted(_ names: String..., gate: @escaping TierGate = { _, _ in }) async throws -> (
        StoreFixture, [PhotoID]
    ) {
        let device = try StoreFixture(gate: gate)
        var ids: [PhotoID] = []
        for name in names { ids.append(try await device.add(name)) }
        device.clock.pass(days: 31)
        #expect(await device.store.run().evicted == names.count)
        return (device, ids)
    }

    @Test func `a hundred callers of a photo in the cold tier cause one fetch`() async throws {
        let (device, ids) = try await evicted(
            "a",
            gate: { call, _ in
                if call.kind == .fetch { try await Task.sleep(for: .milliseconds(20)) }
            })
        let store = device.store
        let files = try await withThrowingTaskGroup(of: PhotoFile.self) { group in
            for _ in 0..<100 { group.addTask { try await store.open(ids[0], within: .seconds(60)) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(files.map(\.url)).count == 1)
        #expect(try Data(contentsOf: files[0].url) == device.bytes["a"])
        #expect(device.remote.requests(.fetch) == 1)
    }

    @Test func `a caller that waits no longer is told so, and the fetch goes on`() async throws {
        let (device, ids) = try await evicted(
            "a",
            gate: { call, moment in
                if call.kind == .fetch, moment == .before { try await Task.sleep(for: .milliseconds(100)) }
            })
        let store = device.store
        let code = await CloakroomError.code { _ = try await store.open(ids[0], within: .milliseconds(5)) }
        #expect(code == .timedOut)
        let file = try await store.open(ids[0])
        #expect(try Data(contentsOf: file.url) == device.bytes["a"])
        #expect(device.remote.requests(.fetch) == 1)
    }

    @Test func `loading gives the thumbnail, the progress and the file, in this order`() async throws {
        let (device, ids) = try await evicted("a")
        var steps: [String] = []
        for await step in device.store.load(ids[0]) {
            switch step {
            case .thumbnail(let bytes):
                #expect(bytes == ScriptedThumbnailer.thumbnail(of: StoreFixture.bytes("a")).bytes)
                steps.append("thumbnail")
            case .progress: steps.append("progress")
            case .file(let file):
                #expect(try Data(contentsOf: file.url) == device.bytes["a"])
                steps.append("file")
            case .failed(let error): Issue.record(error)
            }
        }
        #expect(steps.first == "thumbnail")
        #expect(steps.last == "file")
        #expect(steps.dropFirst().dropLast().allSatisfy { $0 == "progress" })
    }

    @Test func `loading without a network is a failure that can be retried`() async throws {
        let (device, ids) = try await evicted("a")
        device.tier.script.add(.failBefore(.scriptedOutage), on: .fetch)
        var last: PhotoLoad?
        for await step in device.store.load(ids[0]) { last = step }
        guard case .failed(let error) = last else {
            Issue.record("\(String(describing: last))")
            return
        }
        #expect(error.code == .unreachable)
        #expect(error.isRetryable)
        #expect(try await device.read(ids[0]) == device.bytes["a"])
    }

    @Test(arguments: [TierScript.Fault.wrongBytes, .wrongBytesUnnoticed])
    func `wrong bytes never become the photo`(fault: TierScript.Fault) async throws {
        let (device, ids) = try await evicted("a")
        device.tier.script.add(fault, on: .fetch)
        #expect(await CloakroomError.code { _ = try await device.store.open(ids[0]) } == .checksumMismatch)
        #expect(device.photoFiles.isEmpty)
        #expect(try await device.read(ids[0]) == device.bytes["a"])
    }

    @Test func `a photo that is surely absent is missing, keeps its thumbnail, and raises an alarm`() async throws {
        let (device, ids) = try await evicted("a", "b")
        let object = device.remote.change { account in
            let objects = account.objects
            account.objects = [:]
            return objects
        }
        #expect(await CloakroomError.code { _ = try await device.store.open(ids[0]) } == .photoMissing)
        #expect(try await device.place(of: ids[0]) == .missing)
        #expect(try await device.store.thumbnails().allSatisfy { $0.thumbnail != nil })
        #expect(try await device.store.alarms().map(\.kind) == [.missing])
        // The user looks again.
        device.remote.change { $0.objects = object }
        #expect(try await device.read(ids[0]) == device.bytes["a"])
        #expect(try await device.place(of: ids[0]) == .both)
    }

    @Test func `a file that was damaged or deleted on the device is fetched again`() async throws {
        let device = try StoreFixture()
        let id = try await device.add("a")
        let lost = try await device.add("lost")
        _ = await device.store.run()
        try Data("short".utf8).write(to: device.photoFile(StoreFixture.bytes("a")))
        try FileManager.default.removeItem(at: device.photoFile(StoreFixture.bytes("lost")))
        #expect(try await device.read(id) == device.bytes["a"])
        #expect(try await device.read(lost) == device.bytes["lost"])
    }

    @Test func `a photo that was opened stays for a week`() async throws {
        let (device, ids) = try await evicted("a")
        _ = try await device.read(ids[0])
        #expect(await device.store.run().evicted == 0)
        device.clock.pass(days: 6.9)
        try await device.relaunch()
        #expect(await device.store.run().evicted == 0)
        device.clock.pass(days: 0.2)
        #expect(await device.store.run().evicted == 1)
    }

    @Test func `a photo that is closed twice, or let go, is closed once`() async throws {
        let device = try StoreFixture()
        let id = try await device.addOld("a")[0]
        let first = try await device.store.open(id)
        var second: PhotoFile? = try await device.store.open(id)
        first.close()
        first.close()
        device.clock.pass(days: 10)
        #expect(await device.store.run().evicted == 0)
        #expect(second?.byteCount == 3000)
        second = nil
        #expect(await device.store.run().evicted == 1)
    }
}

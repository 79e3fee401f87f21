import CloakroomKit
import CloakroomKitTestSupport
@testable import CloakroomScriptedTier
@testable import CloakroomTiers
import Foundation
import Testing

/// Photos that have come from the cold tier, until the disk holds them.
@Suite(.serialized) struct ArrivalsTests {
    private func evicted(
        _ names: String..., gate: @escaping TierGate = { _, _ in }
    ) async throws -> (StoreFixture, [PhotoID]) {
        let device = try StoreFixture(gate: gate)
        var ids: [PhotoID] = []
        for name in names { ids.append(try await device.add(name)) }
        device.clock.pass(days: 31)
        #expect(await device.store.run().evicted == names.count)
        return (device, ids)
    }

    @Test func `a photo whose file went before it was recorded is fetched again`() async throws {
        let (device, ids) = try await evicted("a", "b")
        for name in ["a", "b"] { #expect(try await device.read(name) == device.bytes[name]) }
        try FileManager.default.removeItem(at: device.photoFile(StoreFixture.bytes("a")))
        await device.store.keepArrivals()
        #expect(try await device.place(of: ids[0]) == .cold)
        #expect(try await device.place(of: ids[1]) == .both)
        #expect(try await device.read(ids[0]) == device.bytes["a"])
        #expect(device.remote.requests(.fetch) == 3)
    }

    @Test func `a photo whose file was cut before it was recorded is fetched again`() async throws {
        let (device, ids) = try await evicted("a")
        #expect(try await device.read(ids[0]) == device.bytes["a"])
        try Data("short".utf8).write(to: device.photoFile(StoreFixture.bytes("a")))
        await device.store.keepArrivals()
        #expect(try await device.place(of: ids[0]) == .cold)
        #expect(try await device.read(ids[0]) == device.bytes["a"])
    }

    @Test func `a photo whose file went before its caller had it is an error, and not an empty photo`() async throws {
        let (device, ids) = try await evicted("a")
        let file = device.photoFile(StoreFixture.bytes("a"))
        let store = try await device.reopened { step in
            if step == .fetched { try? FileManager.default.removeItem(at: file) }
        }
        #expect(await CloakroomError.code { _ = try await store.open(ids[0]) } == .photoDamaged)
    }

    @Test func `photos are recorded half a second after the last arrival, and however many come within five`() {
        let (start, half) = (ContinuousClock.now, Duration.milliseconds(500))
        let end = start + .seconds(5)
        func next(_ last: Duration, _ now: Duration) -> ContinuousClock.Instant? {
            TieredPhotoStore.nextLook(after: start + last, before: end, now: start + now)
        }
        #expect(next(.zero, .milliseconds(1)) == start + half)
        #expect(next(.milliseconds(200), half) == start + .milliseconds(700))
        #expect(next(.milliseconds(200), .milliseconds(700)) == nil)
        #expect(next(.milliseconds(4900), .milliseconds(4950)) == end)
        #expect(next(.milliseconds(4999), .seconds(5)) == nil)
    }

    @Test func `what has arrived is recorded by itself`() async throws {
        let (device, ids) = try await evicted("a")
        #expect(try await device.read(ids[0]) == device.bytes["a"])
        while await !device.store.arrivals.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
        #expect(try await device.place(of: ids[0]) == .both)
    }

    @Test func `of many that arrived those are recorded that the disk holds`() async throws {
        let (device, ids) = try await evicted("a", "b", "c")
        for (id, name) in zip(ids, ["a", "b", "c"]) { #expect(try await device.read(id) == device.bytes[name]) }
        let arrivals = await device.store.arrivals.values.sorted { $0.number < $1.number }
        let photos = device.folder.appendingPathComponent("photos", isDirectory: true)
        let failing = arrivals[1].file
        let kept = await TieredPhotoStore.sync(arrivals, in: photos) { file throws(CloakroomError) in
            if file == failing { throw CloakroomError(.unwritableFile, "the disk fails") }
        }
        #expect(kept.map(\.number) == [arrivals[0].number, arrivals[2].number])
        let absent = device.folder.appendingPathComponent("absent", isDirectory: true)
        #expect(await TieredPhotoStore.sync(arrivals, in: absent).isEmpty)
    }

    @Test func `what the disk does not hold is not recorded, and is fetched again`() async throws {
        let (device, ids) = try await evicted("a")
        #expect(try await device.read(ids[0]) == device.bytes["a"])
        await device.store.keepArrivals { _, _ in [] }
        #expect(try await device.place(of: ids[0]) == .cold)
        #expect(try await device.read(ids[0]) == device.bytes["a"])
        await device.store.keepArrivals()
        #expect(try await device.place(of: ids[0]) == .both)
        #expect(device.remote.requests(.fetch) == 2)
    }

    @Test func `arrivals that are recorded late leave a later fetch alone`() async throws {
        let (disk, network) = (Gate(), Gate())
        await network.letOnePass()
        let (device, ids) = try await evicted(
            "a", gate: { call, moment in if call.kind == .fetch, moment == .before { await network.pass() } })
        let store = device.store
        #expect(try await device.read(ids[0]) == device.bytes["a"])
        let late = Task {
            await store.keepArrivals { arrivals, _ in
                await disk.pass()
                return arrivals
            }
        }
        await disk.arrival()
        await store.keepArrivals()
        try FileManager.default.removeItem(at: device.photoFile(StoreFixture.bytes("a")))
        let first = Task { try await store.open(ids[0], within: .seconds(50)) }
        await network.arrival()
        await disk.open()
        await late.value
        let second = Task { try await store.open(ids[0], within: .seconds(50)) }
        // The second one is there to wait, or to fetch.
        while await store.fetches[ids[0].rawValue] == nil { await Task.yield() }
        _ = try? await store.open(ids[0], within: .milliseconds(1))
        await network.open()
        #expect(try Data(contentsOf: await first.value.url) == device.bytes["a"])
        #expect(try Data(contentsOf: await second.value.url) == device.bytes["a"])
        #expect(device.remote.requests(.fetch) == 2)
    }
}

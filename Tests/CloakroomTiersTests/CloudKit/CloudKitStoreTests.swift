import CloakroomCrypto
import CloakroomKit
import Foundation
import Synchronization
import Testing

@testable import CloakroomTiers

/// The store on CloudKit: what the tier's errors come to for the photos.
@Suite(.serialized) struct CloudKitStoreTests {
    private struct AnyThumbnail: Thumbnailer {
        func thumbnail(of file: URL, maximumPixelSize: Int) async throws -> Thumbnail {
            Thumbnail(bytes: Data([1, 2, 3]), width: 1, height: 1)
        }
    }

    private final class Clock: Sendable {
        private let date = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
        var now: Date { date.withLock { $0 } }
        func pass(days: Double) { date.withLock { $0 += days * 86_400 } }
    }

    /// The device's clock, CloudKit's, and the monotonic one.
    private func pass(days: Double) {
        clock.pass(days: days)
        cloud.container.state.withLock { $0.now += days * 86_400 }
        cloud.pass(days * 86_400)
    }

    private let cloud: CloudFixture
    private let clock = Clock()
    private let store: TieredPhotoStore

    init() throws {
        cloud = try CloudFixture()
        store = try Self.store(cloud, cloud.tier, clock)
    }

    private static func store(
        _ cloud: CloudFixture, _ tier: CloudKitColdTier, _ clock: Clock
    ) throws -> TieredPhotoStore {
        try TieredPhotoStore(
            folder: cloud.folder.appendingPathComponent("store", isDirectory: true), tier: tier,
            thumbnailer: AnyThumbnail(), policy: RetentionPolicy(), conditions: UnrestrictedConditions(),
            clock: { clock.now })
    }

    private func add(_ content: String) async throws -> PhotoID {
        try await store.add(try cloud.photo(content).file, name: content, takenAt: clock.now)
    }

    private func add(_ content: String, to store: TieredPhotoStore) async throws -> PhotoID {
        try await store.add(try cloud.photo(content).file, name: content, takenAt: clock.now)
    }

    private func place(_ id: PhotoID) async throws -> PhotoPlace? {
        try await store.thumbnails().first { $0.id == id }?.place
    }

    /// A photo that has left the device, and one that has not.
    private func coldAndNew() async throws -> (cold: PhotoID, new: PhotoID) {
        let cold = try await add("cold")
        pass(days: 31)
        let new = try await add("new")
        let report = await store.run()
        #expect(report.stoppedBy == nil)
        #expect(report.evicted == 1)
        #expect(try await place(cold) == .cold)
        #expect(try await place(new) == .both)
        return (cold, new)
    }

    private var photoRecords: [String] { cloud.container.records().filter { $0.hasPrefix("photo-") } }

    @Test func `a photo leaves the device when CloudKit has it, and comes back`() async throws {
        let (cold, _) = try await coldAndNew()
        #expect(photoRecords.count == 2)
        #expect(cloud.container.requests(.download).count == 2)
        let file = try await store.open(cold)
        #expect(try Data(contentsOf: file.url) == Data("cold".utf8))
        file.close()
    }

    @Test func `a device whose clock is ahead of CloudKit's lets nothing leave before its time`() async throws {
        let photo = try await add("one")
        clock.pass(days: 31)
        #expect(await store.run().evicted == 0)
        #expect(try await place(photo) == .both)
        cloud.pass(31 * 86_400)
        #expect(await store.run().evicted == 1)
    }

    /// The next launch of the app: its tier has saved nothing yet.
    private func relaunched(_ store: TieredPhotoStore) async throws -> TieredPhotoStore {
        try await store.releaseLock()
        return try Self.store(cloud, try CloudKitColdTier(cloud.container, zone: "Test", scratch: cloud.folder), clock)
    }

    @Test func `after a start, too, a clock that is ahead lets nothing leave before its time`() async throws {
        _ = try await add("one")
        #expect(await store.run(.manual).uploaded == 1)
        clock.pass(days: 31)
        let second = try await relaunched(store)
        #expect(await second.run(.manual).evicted == 0)
        cloud.container.state.withLock { $0.now += 31 * 86_400 }
        #expect(await (try relaunched(second)).run(.manual).evicted == 1)
    }

    @Test(arguments: [false, true])
    func `a deletion that was announced by a clock that was behind waits for two days of CloudKit's`(
        isQuotaUsedUp: Bool
    ) async throws {
        _ = try await add("one")
        _ = await store.run(.manual)
        clock.pass(days: -3)
        try await store.remove(name: "one")
        _ = await store.run(.manual)
        clock.pass(days: 3)
        let second = try await relaunched(store)
        if isQuotaUsedUp { for _ in 0..<9 { cloud.container.script(.save, .fail(.quotaExceeded)) } }
        #expect(await second.run(.manual).deleted == 0)
        #expect(photoRecords.count == 1)
        pass(days: 2.1)
        #expect(await (try relaunched(second)).run(.manual).deleted == 1)
        #expect(photoRecords.isEmpty)
    }

    @Test func `a clock that went back keeps what is due, until it is right again`() async throws {
        _ = try await add("one")
        pass(days: 31)
        clock.pass(days: 40)
        _ = try await add("two")
        #expect(await store.run(.manual).evicted == 1)
        clock.pass(days: -2)
        let second = try await relaunched(store)
        _ = try await add("three", to: second)
        #expect(await second.freeSpace(.perform).stoppedBy?.code == .clockWentBack)
        #expect(await second.freeSpace(.perform).evicted == 0)
        clock.pass(days: -38)
        #expect(await second.freeSpace(.perform).evicted > 0)
    }

    @Test func `photos never go to another account`() async throws {
        let (cold, _) = try await coldAndNew()
        _ = try await add("newer")
        cloud.container.state.withLock { $0.user = "_bob" }
        #expect(await store.run(.manual).stoppedBy?.code == .accountChanged)
        #expect(await code { _ = try await store.open(cold) } == .accountChanged)
        try await store.releaseLock()

        // After a start, the tier sees the other account first.
        let tier = try CloudKitColdTier(cloud.container, zone: "Test", scratch: cloud.folder)
        let another = try Self.store(cloud, tier, clock)
        let report = await another.run(.manual)
        #expect(report.stoppedBy?.code == .accountChanged)
        #expect(report.alarms.map(\.kind) == [.accountChanged])
        #expect(await code { _ = try await another.open(cold) } == .accountChanged)
        #expect(cloud.container.zones(of: "_bob") == [])
        #expect(try await another.thumbnails().first { $0.id == cold }?.place == .cold)
    }

    @Test func `over quota the run ends, and photos are still read`() async throws {
        let (cold, _) = try await coldAndNew()
        for number in 0..<5 { _ = try await add("more \(number)") }
        for _ in 0..<9 { cloud.container.script(.save, .fail(.quotaExceeded)) }
        #expect(await store.run(.manual).stoppedBy?.code == .storageQuotaExceeded)
        #expect(photoRecords.count == 2)
        _ = try await store.open(cold)
    }

    @Test(arguments: [CloudFault.userDeletedZone, .encryptedDataReset])
    func `after a zone was lost, what is here is uploaded again, and the rest is missing`(
        fault: CloudFault
    ) async throws {
        let expected: CloakroomError.Code = fault == .userDeletedZone ? .zoneDeleted : .encryptedDataReset
        let (cold, new) = try await coldAndNew()
        let made = cloud.container.requests(.saveZone).count
        cloud.container.failZone("Test", fault)
        cloud.container.failZone("Test-documents", fault)
        _ = try await add("newer")
        #expect(await store.run(.manual).stoppedBy?.code == expected)
        #expect(await code { _ = try await store.open(cold) } == expected)
        #expect(try await place(cold) == .cold)
        #expect(cloud.container.requests(.saveZone).count == made)

        try await cloud.tier.recreateZone()
        var report = await store.run(.manual)
        #expect(report.alarms.map(\.kind) == [.missing])
        #expect(try await place(cold) == .missing)
        report = await store.run(.manual)
        #expect(try await place(new) == .both)
        #expect(photoRecords.count == 2)
        #expect(photoRecords.allSatisfy { $0 != "photo-\((try? cloud.photo("cold").photo.md5.hexadecimal) ?? "")" })
    }

    @Test func `a zone that is deleted during a run ends it at once`() async throws {
        for number in 0..<40 { _ = try await add("photo \(number)") }
        _ = try await cloud.stored("another")
        for _ in 0..<40 { cloud.container.script(.save, .fail(.userDeletedZone)) }
        let report = await store.run(.manual)
        #expect(report.stoppedBy?.code == .zoneDeleted)
        #expect(report.failures.count < 40)
        #expect(report.uploaded == 0)
    }
}

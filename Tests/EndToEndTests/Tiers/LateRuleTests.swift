import CloakroomCrypto
import CloakroomKit
import CloakroomTiers
import Foundation
import Synchronization
import Testing

extension EndToEnd {
    /// A lifecycle rule that is added when photos are in the bucket alone, on a store that really expires objects.
    @Suite struct LateRules {
        private static let user = "u_late"
        /// Of the rule, counted from when the photos were stored: more than the steps before its end take.
        private static let days = 15

        @Test func `a rule that is added later raises an alarm before anything is lost, and what is lost is named`()
            async throws
        {
            let ceph = try EndToEnd.ceph()
            try await Stack.run("tier-late-rule", ceph.options(nginx: true, TierSettings.change)) { stack in
                let token = Tokens.token(user: Self.user, device: Self.user, tier: "free")
                let client = try await Kit(stack, token: token, s3: ceph.url).backups()
                let clock = DeviceClock(Date(timeIntervalSinceNow: -40 * 86_400))
                let store = try TieredPhotoStore(
                    folder: URL(fileURLWithPath: "\(stack.folder)/store"),
                    tier: S3ColdTier(client: client, layout: try PhotoLayout(userID: Self.user)),
                    thumbnailer: SamePicture(), policy: RetentionPolicy(), conditions: UnrestrictedConditions(),
                    clock: { clock.date })

                // Forty days later all of them are in the bucket alone.
                let photos = try await Self.add(8, to: store, in: stack.folder)
                clock.date = Date()
                let first = await store.run()
                #expect(first.evicted == photos.count && first.stoppedBy == nil && first.alarms == [], "\(first)")
                let before = try Self.verify(stack, ceph)
                #expect(before.contains("tiered photos: no rule of the bucket"), "\(before)")

                let digit = try #require(photos.first?.md5.first)
                let reached = photos.filter { $0.md5.first == digit }
                let prefix = "photos/\(Self.user)/tiers/\(digit)"
                let rule =
                    "<Rule><ID>late</ID><Filter><Prefix>\(prefix)</Prefix></Filter><Status>Enabled</Status>"
                    + "<Expiration><Days>\(Self.days)</Days></Expiration></Rule>"
                let put = try ceph.ask(
                    "PUT", "?lifecycle=", body: "<LifecycleConfiguration>\(rule)</LifecycleConfiguration>")
                try #require(put.status == 200, "\(put.told)")
                defer { _ = try? ceph.ask("DELETE", "?lifecycle=") }
                let after = try Self.verify(stack, ceph)
                #expect(after.contains("the rule \"late\", for objects under \(prefix)"), "\(after)")

                // The next weekly look.
                clock.date += 8 * 86_400
                let warned = await store.run()
                #expect(warned.alarms.map(\.kind) == [.expiring], "\(warned)")
                #expect(warned.alarms.allSatisfy { $0.example.hasPrefix(prefix) })
                #expect(try await store.alarms() == warned.alarms)
                #expect(try ceph.keys(below: "photos/\(Self.user)/").count == photos.count)
                // Nothing leaves the device from now on, not even what the rule is not for.
                let fresh = try await Self.add(1, to: store, in: stack.folder) { $0.first != digit }
                let stopped = await store.freeSpace(.perform)
                #expect(stopped.evicted == 0 && stopped.kept == 1, "\(stopped)")
                #expect(stopped.stoppedBy?.code == .alarmRaised, "\(stopped)")

                try wait(for: "the end of \(reached.count) photos", within: .seconds(150)) {
                    try ceph.keys(below: prefix).isEmpty
                }
                clock.date += 8 * 86_400
                let lost = await store.run()
                let missing = try #require(lost.alarms.first { $0.kind == .missing }, "\(lost)")
                #expect(missing.photoCount == reached.count && missing.example.hasPrefix(prefix), "\(missing)")
                let named = try await store.thumbnails().filter { $0.place == .missing }
                #expect(Set(named.map(\.id)) == Set(reached.map(\.id)))
                #expect(named.allSatisfy { $0.thumbnail != nil })
                #expect(try await store.usage().missingCount == reached.count)
                let still = await store.freeSpace(.perform)
                #expect(still.evicted == 0 && still.stoppedBy?.code == .alarmRaised, "\(still)")
                for photo in photos + fresh where !reached.contains(photo) {
                    #expect(try Data(contentsOf: await store.open(photo.id).url) == photo.bytes)
                }
                for photo in reached {
                    let error = try await cloakroomError { _ = try await store.open(photo.id) }
                    #expect(error?.code == .photoMissing, "\(String(describing: error))")
                }
            }
        }

        private static func verify(_ stack: Stack, _ ceph: Ceph) throws -> String {
            try Command(["lifecycle", "verify", stack.settingsFile], environment: ceph.environment).text
        }

        private struct Photo: Hashable {
            let id: PhotoID
            let bytes: Data
            /// In hexadecimal: its name in the bucket.
            let md5: String
        }

        /// - Parameter isWanted: by the MD5 in hexadecimal.
        private static func add(
            _ count: Int, to store: TieredPhotoStore, in folder: String,
            where isWanted: (String) -> Bool = { _ in true }
        ) async throws -> [Photo] {
            var photos: [Photo] = []
            while photos.count < count {
                let bytes = Data((0..<5000).map { _ in UInt8.random(in: 0...255) })
                let md5 = MD5.hash(bytes).hexadecimal
                guard isWanted(md5) else { continue }
                let file = URL(fileURLWithPath: "\(folder)/\(md5)")
                try bytes.write(to: file)
                let id = try await store.add(file, name: md5, takenAt: Date())
                try FileManager.default.removeItem(at: file)
                photos.append(Photo(id: id, bytes: bytes, md5: md5))
            }
            return photos
        }
    }
}

/// The device's clock, as the test sets it.
private final class DeviceClock: Sendable {
    private let now: Mutex<Date>

    init(_ date: Date) { now = Mutex(date) }

    var date: Date {
        get { now.withLock { $0 } }
        set { now.withLock { $0 = newValue } }
    }
}

/// The smallest JPEG that says it is one.
private struct SamePicture: Thumbnailer {
    func thumbnail(of file: URL, maximumPixelSize: Int) -> Thumbnail {
        Thumbnail(bytes: Data([0xFF, 0xD8, 0xFF, 0xD9]), width: 1, height: 1)
    }
}

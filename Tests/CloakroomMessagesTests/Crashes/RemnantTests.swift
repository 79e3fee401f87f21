import CloakroomKit
@testable import CloakroomMessages
import CloakroomSQLite
import Foundation
import Testing

/// What is left of purged messages on the disk cannot be opened.
@Suite(.serialized) struct RemnantTests {
    @Test func `no file and no key gives a purged body back, and without sealing or rotation some would be`()
        async throws
    {
        var openable = 0
        var readableUnsealed = 0
        var openableUnrotated = 0
        var purged = 0
        for seed in 1...20 {
            let life = try await DiskLife(seed: UInt64(seed))
            try await life.run()
            for isRead in [true, false] {
                try await life.end(isRead: isRead)
                let gone = life.bodies.filter { !life.live.contains($0.id) }
                let found = try Remnants.found(Array(gone), in: life.device.folder)
                let keys = await life.device.storage.keyTable
                openable += found.count { $0.opens(with: [keys]) }
                // Where a sealed body is found whole, one that was not sealed would be; and every key there ever was is
                // one that was never dropped.
                readableUnsealed += found.count
                openableUnrotated += found.count { $0.opens(with: life.tables) }
                purged += isRead ? 0 : Set(gone.map(\.id)).count
            }
        }
        #expect(purged > 20 * 60)
        #expect(openable == 0)
        #expect(readableUnsealed > 0)
        #expect(openableUnrotated > 0)
    }
}

/// Some weeks of a device: messages of all sizes and durations, cuts, readers, and ends of the process.
private final class DiskLife {
    let device: RetentionFixture
    private var random: SplitMix
    /// All that were ever in the database, under each key.
    private(set) var bodies: Set<SealedBody> = []
    private(set) var tables: [MessageKeyTable] = []
    private var version: Int64 = 0
    private var count = 0

    init(seed: UInt64) async throws {
        device = try await RetentionFixture()
        random = SplitMix(seed: seed)
        try await device.want(.keep)
    }

    private(set) var live: Set<String> = []

    func run() async throws {
        for round in 0..<4 {
            try await admit(Int.random(in: 20...40, using: &random))
            try await cut()
            device.clocks.pass(.seconds([600, 7200, 90_000, 700_000].randomElement(using: &random) ?? 600))
            try await purge(round)
            try await look()
        }
    }

    /// A peer shortens the past, or not.
    private func cut() async throws {
        try await look()
        guard Bool.random(using: &random) else { return }
        version += 1
        let policy: MessageRetentionPolicy = [.oneHour, .oneDay, .oneWeek].randomElement(using: &random) ?? .oneDay
        device.clocks.pass(.seconds(1))
        try await device.receive(device.said(policy, version: version, cutBefore: device.clocks.reading.wall))
        try await look()
    }

    /// Purges what is over, beyond the ends of the slots of what was gone before the last purge.
    ///
    /// - Parameter isRead: another connection reads meanwhile, so that the log keeps what was in it, and the process ends.
    func end(isRead: Bool) async throws {
        let reader = try device.connect()
        if isRead {
            try reader.run("BEGIN")
            _ = try reader.first("SELECT count(*) FROM message") { $0.integer(0) }
            try await admit(30)
            try await cut()
        }
        for _ in 0..<2 {
            live = Set(try SealedBody.all(in: device.folder).map(\.id))
            // The longest slot that ends here is that of a week.
            device.clocks.pass(.seconds(40_000))
            let report = try await device.retention.purge()
            #expect(report.stoppedBy == nil && report.isCheckpointPending == isRead && !report.isRotationPending)
        }
        if isRead { try await device.relaunch() }
    }

    private func admit(_ count: Int) async throws {
        let policies: [MessageRetentionPolicy] = [.oneHour, .oneDay, .oneWeek, .keep]
        var messages: [IncomingMessage] = []
        for _ in 0..<count {
            self.count += 1
            var message = try device.incoming("m\(self.count)", policies.randomElement(using: &random) ?? .keep)
            message.body = Data(repeating: UInt8(count % 256), count: Int.random(in: 10...900, using: &random))
            messages.append(message)
        }
        _ = try await device.retention.admit(messages)
        try await look()
    }

    private func purge(_ round: Int) async throws {
        let reader = try device.connect()
        let isRead = Bool.random(using: &random)
        if isRead {
            try reader.run("BEGIN")
            _ = try reader.first("SELECT count(*) FROM message") { $0.integer(0) }
        }
        let isEnded = round % 3 == 1
        if isEnded { device.interruption.end(at: PurgeStep.all.randomElement(using: &random)) }
        _ = try? await device.retention.purge()
        if isRead { try reader.run("COMMIT") }
        device.interruption.end(at: nil)
        if isEnded { try await device.relaunch() }
        if !isRead { _ = try await device.retention.purge() }
    }

    private func look() async throws {
        bodies.formUnion(try SealedBody.all(in: device.folder))
        tables.append(await device.storage.keyTable)
    }
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
private struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        return bits ^ bits >> 31
    }
}

import CloakroomBenchSupport
import CloakroomKit
import CloakroomKitTestSupport
import CloakroomMessages
import CloakroomSQLite
import Foundation
import Synchronization

/// Some weeks of a device: messages of all sizes and durations, peers who shorten the past, readers that keep the log, and
/// ends of the process in the middle of purges.
final class DeviceLife {
    private(set) var device: BenchDevice
    /// All that were ever in the database, under each key.
    private(set) var bodies: Set<SealedBody> = []
    /// The names of those that may still be here.
    private(set) var live: Set<String> = []
    private(set) var formerKeys: Set<KeySet> = []
    private let folder: URL
    private let vault = MemoryVault()
    private let interruption = Interruption()
    private var random: SeededGenerator
    private let rounds: Int
    private var version: Int64 = 0
    private var count = 0
    private let conversation: ConversationID

    init(_ folder: URL, seed: UInt64, rounds: Int) async throws {
        (self.folder, self.rounds) = (folder, rounds)
        random = SeededGenerator(seed: seed)
        conversation = try BenchMessages.conversation(0)
        let interruption = interruption
        device = try await BenchDevice(folder, vault: vault, step: { try interruption.cross($0) })
        try await device.keepAll(conversations: 1)
    }

    func run() async throws {
        for round in 0..<rounds {
            try await admit(Int.random(in: 20...60, using: &random))
            try await cut()
            pass([600_000, 7_200_000, 90_000_000, 700_000_000].randomElement(using: &random) ?? 600_000)
            try await purge(isInterrupted: round % 3 == 1)
            try look()
        }
    }

    /// Purges what is over, beyond the ends of the slots of what was gone before the last purge.
    ///
    /// - Parameter isRead: another connection reads meanwhile, so that the log keeps what was in it, and the process ends.
    func end(isRead: Bool) async throws {
        let reader = isRead ? try SQLiteDatabase(at: device.database.path) : nil
        if let reader {
            try hold(reader)
            try await admit(30)
            try await cut()
        }
        for _ in 0..<2 {
            live = Set(try SealedBody.all(in: device.database).map(\.name))
            // The longest slot that ends here is that of a week.
            pass(40_000_000)
            let report = try await device.retention.purge()
            guard report.stoppedBy == nil, report.isCheckpointPending == isRead, !report.isRotationPending else {
                throw BenchError("\(report)")
            }
        }
        if isRead { try await relaunch() }
    }

    /// The keys of now.
    func keys() throws -> KeySet {
        guard let master = vault.value else { throw BenchError("the vault is empty") }
        return KeySet(
            file: try Data(contentsOf: device.folder.appendingPathComponent(BenchDevice.keys)), master: master)
    }

    private func pass(_ duration: Milliseconds) { device.move(to: device.time + duration) }

    private func look() throws {
        bodies.formUnion(try SealedBody.all(in: device.database))
        formerKeys.insert(try keys())
    }

    private func admit(_ count: Int) async throws {
        let policies: [MessageRetentionPolicy] = [.oneHour, .oneDay, .oneWeek, .keep]
        let messages = try (0..<count).map { _ in
            self.count += 1
            return try BenchMessages.message(
                self.count, policies.randomElement(using: &random) ?? .keep, in: conversation, at: nil,
                byteCount: Int.random(in: 10...900, using: &random))
        }
        _ = try await device.retention.admit(messages)
        try look()
    }

    /// A peer shortens the past, or not.
    private func cut() async throws {
        guard Bool.random(using: &random), let peer = ParticipantID(rawValue: "peer") else { return }
        version += 1
        let policy: MessageRetentionPolicy = [.oneHour, .oneDay, .oneWeek].randomElement(using: &random) ?? .oneDay
        let register = RetentionRegister(
            version: RegisterVersion(version) ?? .first, policy: policy,
            cuts: RetentionCuts(policy, before: device.time))
        pass(1000)
        try await device.retention.receive(
            RetentionPolicyMessage(register, of: peer, in: conversation),
            from: AuthenticatedSender(peer, in: conversation))
        try look()
    }

    private func purge(isInterrupted: Bool) async throws {
        let isRead = Bool.random(using: &random)
        let reader = try SQLiteDatabase(at: device.database.path)
        if isRead { try hold(reader) }
        if isInterrupted { interruption.end(at: PurgeStep.all.randomElement(using: &random)) }
        do { try await device.retention.purge() } catch is PurgeInterrupted {}
        interruption.end(at: nil)
        if isRead { try reader.run("COMMIT") }
        if isInterrupted { try await relaunch() }
        if !isRead { try await device.retention.purge() }
    }

    private func hold(_ reader: SQLiteDatabase) throws {
        try reader.run("BEGIN")
        _ = try reader.first("SELECT count(*) FROM message") { $0.integer(0) }
    }

    private func relaunch() async throws {
        let interruption = interruption
        let time = device.time
        await device.storage.close()
        device = try await BenchDevice(folder, at: time, vault: vault, step: { try interruption.cross($0) })
    }
}

/// Ends a purge at a point, as the end of the process does.
final class Interruption: Sendable {
    private let point = Mutex<PurgeStep?>(nil)

    func end(at step: PurgeStep?) { point.withLock { $0 = step } }

    func cross(_ step: PurgeStep) throws {
        if point.withLock({ $0 == step }) { throw PurgeInterrupted() }
    }
}

import CloakroomAWS
import CloakroomBenchSupport
import CloakroomKit
import CloakroomKitTestSupport
import CloakroomMessages
import CloakroomSQLite
import Foundation
import Synchronization

/// A device in a folder: its messages, and its vault beside them.
struct BenchDevice {
    let folder: URL
    let storage: SQLiteMessageStorage
    let retention: MessageRetention
    private let clocks: Mover

    /// In milliseconds since 1970, at the end of no slot of keys.
    static let begin: Milliseconds = 1_800_000_100_000

    /// What all clocks of a device show, the server's included.
    final class Mover: Sendable {
        private let now: Mutex<Milliseconds>

        init(_ now: Milliseconds) { self.now = Mutex(now) }

        func move(to time: Milliseconds) { now.withLock { $0 = time } }

        var reading: RetentionClock.Reading {
            let now = now.withLock { $0 }
            return RetentionClock.Reading(wall: now, continuous: now, boot: "boot", server: now)
        }

        var instant: ContinuousClock.Instant { Self.start + .milliseconds(reading.continuous - BenchDevice.begin) }

        private static let start = ContinuousClock.now
    }

    /// - Parameters:
    ///   - time: what the clocks show.
    ///   - vault: `nil`: files in the folder.
    ///   - step: see `SQLiteMessageStorage`.
    init(
        _ folder: URL, at time: Milliseconds = begin, vault: (any KeyVault)? = nil,
        step: @escaping @Sendable (PurgeStep) throws -> Void = { _ in }
    ) async throws {
        self.folder = folder.appendingPathComponent("messages", isDirectory: true)
        let clocks = Mover(time)
        let vault = vault ?? FileKeyVault(folder: folder.appendingPathComponent("vault", isDirectory: true))
        storage = try await SQLiteMessageStorage(
            folder: self.folder, vault: vault, reading: clocks.reading, step: step)
        self.clocks = clocks
        guard let own = ParticipantID(rawValue: "own") else { throw BenchError("no participant") }
        retention = try await MessageRetention(
            of: own, storage: storage, runtime: RuntimeDependencies(now: { clocks.instant }),
            read: { clocks.reading })
    }

    func move(to time: Milliseconds) { clocks.move(to: time) }

    var time: Milliseconds { clocks.reading.wall }

    var database: URL { Self.database(in: folder) }

    /// The file of keys, below the folder of messages.
    static let keys = "keys/keys"

    static func database(in folder: URL) -> URL { folder.appendingPathComponent("messages.sqlite", isDirectory: false) }

    /// With the settings of the storage's own.
    static func connect(_ database: URL, busyTimeout: Duration = .seconds(2)) throws -> SQLiteDatabase {
        try SQLiteDatabase(
            at: database.path,
            settings: SQLiteSettings(
                durability: .powerFailure, overwritesDeleted: true, keepsTemporariesInMemory: true,
                busyTimeout: busyTimeout))
    }

    /// Has this user keep all that comes in so many conversations.
    func keepAll(conversations: Int) async throws {
        for number in 0..<conversations {
            try await retention.updateRetentionPolicy(
                .keep, in: BenchMessages.conversation(number), applyingTo: .newMessages)
        }
    }
}

/// Messages that are the same in each run.
enum BenchMessages {
    static let week: Milliseconds = 7 * .day

    static func conversation(_ number: Int) throws -> ConversationID {
        guard let id = ConversationID(rawValue: "conversation-\(number)") else { throw BenchError("no conversation") }
        return id
    }

    /// As long as a UUID.
    static func name(_ number: Int) -> String {
        let digits = String(UInt64(number + 1) &* 0x9E37_79B9_7F4A_7C15, radix: 16)
        return "message-\(digits)".padding(toLength: 36, withPad: "-", startingAt: 0)
    }

    static func body(_ number: Int, byteCount: Int) -> Data { .numbered(number, count: byteCount) }

    static func message(
        _ number: Int, _ policy: MessageRetentionPolicy, in conversation: ConversationID, at time: Milliseconds?,
        byteCount: Int
    ) throws -> IncomingMessage {
        guard let id = MessageID(rawValue: name(number)), let peer = ParticipantID(rawValue: "peer") else {
            throw BenchError("no identifier")
        }
        return IncomingMessage(
            id: id, sender: AuthenticatedSender(peer, in: conversation), stamp: MessageStamp(policy: policy),
            relayTime: time?.date, body: body(number, byteCount: byteCount))
    }
}

/// Messages that came over a week, to conversations in turn, and end a week after they came.
struct Fill {
    let count: Int
    let conversations: Int
    let byteCount: Int
    let folder: URL

    private static let batch = 2000

    init(_ arguments: Arguments) throws {
        self.init(
            count: try arguments.number("count"), conversations: try arguments.number("conversations"),
            byteCount: try arguments.number("bytes"), folder: arguments.folder)
    }

    init(count: Int, conversations: Int, byteCount: Int, folder: URL) {
        (self.count, self.conversations, self.byteCount, self.folder) = (count, conversations, byteCount, folder)
    }

    /// When a message came.
    func arrival(of number: Int) -> Milliseconds {
        BenchDevice.begin + Milliseconds(number) * BenchMessages.week / Milliseconds(count)
    }

    /// When so many of them are over, and no more.
    func end(ofFirst number: Int) -> Milliseconds { arrival(of: number - 1) + BenchMessages.week }

    func run() async throws -> [String: Double] {
        let device = try await BenchDevice(folder)
        try await device.keepAll(conversations: conversations)
        let names = try (0..<conversations).map { try BenchMessages.conversation($0) }
        for first in stride(from: 0, to: count, by: Self.batch) {
            let numbers = first..<min(first + Self.batch, count)
            device.move(to: arrival(of: first))
            let admissions = try await device.retention.admit(
                numbers.map { number in
                    try BenchMessages.message(
                        number, .oneWeek, in: names[number % conversations], at: arrival(of: number),
                        byteCount: byteCount)
                })
            guard admissions.allSatisfy({ if case .kept = $0 { true } else { false } }) else {
                throw BenchError("a message was not kept")
            }
        }
        await device.storage.close()
        return ["messages": Double(count)]
    }
}

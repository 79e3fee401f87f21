import CloakroomKit
import Foundation
import Synchronization

@testable import CloakroomMessages

/// A conversation of two, each with a storage and a screen; what one sends the other has at once.
@MainActor
final class ScreenChat {
    let phones: [ScreenPhone]
    let clock = ScreenClock()
    private let folder: URL

    init() async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "chat-\(UUID().uuidString)", isDirectory: true)
        var phones: [ScreenPhone] = []
        for name in ["anna", "bert"] {
            phones.append(try await ScreenPhone(name, clock, folder.appendingPathComponent(name, isDirectory: true)))
        }
        self.phones = phones
        try await phones[0].meet(phones[1])
        try await phones[1].meet(phones[0])
    }

    deinit { try? FileManager.default.removeItem(at: folder) }
}

/// One time for all, which passes when a test says so; the server tells it.
final class ScreenClock: Sendable {
    private let passed = Mutex<Duration>(.zero)

    func pass(_ duration: Duration) { passed.withLock { $0 += duration } }

    var reading: RetentionClock.Reading {
        let passed = Milliseconds(passed.withLock { $0 })
        let time: Milliseconds = 1_800_000_000_000 + passed
        return RetentionClock.Reading(wall: time, continuous: passed, boot: "1", server: time)
    }
}

@MainActor
final class ScreenPhone {
    let retention: MessageRetention
    let model: RetentionSettingsModel
    private let conversation: ConversationID
    private let peers: Peers

    /// Who gets what is sent.
    private final class Peers: Sendable {
        let all = Mutex<[MessageRetention]>([])
    }

    struct NoIdentifier: Error {}

    init(_ name: String, _ clock: ScreenClock, _ folder: URL) async throws {
        guard let participant = ParticipantID(rawValue: name), let conversation = ConversationID(rawValue: "c1") else {
            throw NoIdentifier()
        }
        let storage = try await SQLiteMessageStorage(
            folder: folder.appendingPathComponent("messages", isDirectory: true),
            vault: FileKeyVault(folder: folder.appendingPathComponent("vault", isDirectory: true)),
            reading: clock.reading, step: { _ in })
        retention = try await MessageRetention(of: participant, storage: storage, read: { clock.reading })
        let peers = Peers()
        (self.conversation, self.peers) = (conversation, peers)
        model = RetentionSettingsModel(retention: retention, conversation: conversation) { message in
            for peer in peers.all.withLock({ $0 }) {
                try await peer.receive(message, from: AuthenticatedSender(participant, in: conversation))
            }
        }
    }

    func meet(_ other: ScreenPhone) async throws {
        peers.all.withLock { $0.append(other.retention) }
        try await retention.setMembers([retention.participant, other.retention.participant], of: conversation)
    }

    /// Sends what this user wants to the other.
    func connect() async { await model.sendAgain() }

    /// A message of the other user arrives.
    func admit(_ id: String, _ policy: MessageRetentionPolicy = .keep, age: Duration = .zero) async throws {
        guard let id = MessageID(rawValue: id), let sender = peers.all.withLock({ $0.first })?.participant else {
            throw NoIdentifier()
        }
        _ = try await retention.admit(
            IncomingMessage(
                id: id, sender: AuthenticatedSender(sender, in: conversation),
                stamp: MessageStamp(policy: policy, age: age), body: Data("body".utf8)))
    }

    /// How many messages are shown.
    func shown() async throws -> Int { try await retention.messages(in: conversation, limit: 1000).count }

    func count() async throws -> Int { try await retention.messageCount(in: conversation) }
}

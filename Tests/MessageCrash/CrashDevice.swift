import CloakroomAWS
import CloakroomKit
import CloakroomMessages
import Foundation

/// What a device does between two kills.
enum Scenario: String, CaseIterable {
    case admit, purge, shorten, delete, erase, memory, migrate
}

/// A device in a folder:
///
/// - `messages` is the storage's folder, and `vault` that of the master key;
/// - `older` has the files of an app from before the library, one for each conversation;
/// - `handled.txt` has a line for each message that a handler was told of.
struct CrashDevice {
    let retention: MessageRetention
    private let older: URL
    private let points: KillPoints

    /// An hour, a day, and without an end; every fifth with an image, every seventh with a file.
    static let count = 30

    init(folder: URL, points: KillPoints, seconds: Int64) async throws {
        let reading = RetentionClock.Reading(
            wall: seconds * 1000, continuous: seconds * 1000, boot: "boot", server: seconds * 1000)
        older = folder.appendingPathComponent("older", isDirectory: true)
        self.points = points
        points.cross()
        let storage = try await SQLiteMessageStorage(
            folder: folder.appendingPathComponent("messages", isDirectory: true),
            vault: KillingVault(
                vault: FileKeyVault(folder: folder.appendingPathComponent("vault", isDirectory: true)), points: points),
            reading: reading, step: { _ in points.cross() })
        guard let user = ParticipantID(rawValue: "own") else { throw MessageCrash.UsageError() }
        let now = ContinuousClock.now
        retention = try await MessageRetention(
            of: user, storage: storage, handlers: [LoggingHandler(file: folder.appendingPathComponent("handled.txt"))],
            chatKeyPrefix: "chat/", runtime: RuntimeDependencies(now: { now }),
            read: {
                points.cross()
                return reading
            })
        points.cross()
    }

    func perform(_ scenario: Scenario) async throws {
        let user = retention.participant
        guard let conversation = ConversationID(rawValue: "c1"), let peer = ParticipantID(rawValue: "peer") else {
            throw MessageCrash.UsageError()
        }
        switch scenario {
        case .admit:
            try await retention.updateRetentionPolicy(.keep, in: conversation, applyingTo: .newMessages)
            for index in 0..<Self.count {
                guard let id = MessageID(rawValue: "m\(index)") else { throw MessageCrash.UsageError() }
                let attachments =
                    index % 5 == 0 || index % 7 == 0
                    ? [
                        MessageAttachment(
                            assetKey: index % 5 == 0 ? "chat/\(index)" : nil,
                            releaseToken: index % 5 == 0 ? "token" : nil)
                    ] : []
                let policy = [MessageRetentionPolicy.oneHour, .oneDay, .keep][index % 3]
                let message = IncomingMessage(
                    id: id, sender: AuthenticatedSender(index % 5 == 0 ? user : peer, in: conversation),
                    stamp: MessageStamp(policy: policy),
                    body: Data("the body of m\(index)".utf8), attachments: attachments)
                _ = try await retention.admit(message)
                if index % 7 == 0 {
                    _ = try await retention.keepAttachment(
                        Data("the file of m\(index)".utf8), at: 0, of: message.reference)
                }
            }
        case .purge: try check(await retention.purge())
        case .shorten:
            try await retention.updateRetentionPolicy(.oneHour, in: conversation, applyingTo: .history)
            try check(await retention.purge())
        case .delete: try check(await retention.deleteAll(in: conversation))
        case .erase: try await retention.eraseEverything()
        case .memory:
            for index in 0..<5 {
                guard let id = MessageID(rawValue: "s\(index)") else { throw MessageCrash.UsageError() }
                let message = IncomingMessage(
                    id: id, sender: AuthenticatedSender(user, in: conversation),
                    stamp: MessageStamp(policy: .noStorage), body: Data("the body of s\(index)".utf8),
                    attachments: [MessageAttachment(assetKey: "chat/s\(index)", releaseToken: "token")])
                _ = try await retention.admit(message)
            }
            try await retention.close(conversation)
            try check(await retention.purge())
        case .migrate: try await migrate(from: peer)
        }
    }

    private func migrate(from peer: ParticipantID) async throws {
        var files = LegacyMessageFiles(in: older) { name in
            ConversationID(rawValue: name).map { LegacySession(conversation: $0, peer: peer, policy: .oneDay) }
        }
        let points = points
        files.step = { points.cross() }
        for name in ["c1", "c2"] {
            guard let conversation = ConversationID(rawValue: name) else { throw MessageCrash.UsageError() }
            guard try await retention.retentionPolicy(in: conversation) != .oneDay else { continue }
            try await retention.updateRetentionPolicy(.oneDay, in: conversation, applyingTo: .newMessages)
        }
        let report = await retention.migrate(try await retention.preview(of: files))
        guard report.stoppedBy == nil, report.left.isEmpty else {
            throw report.stoppedBy ?? CloakroomError(.storeFailed, "\(report)")
        }
    }

    private func check(_ report: PurgeReport) throws {
        guard report.isComplete else { throw report.stoppedBy ?? CloakroomError(.storeFailed, "\(report)") }
    }
}

/// A vault whose user can be killed before and after each call.
struct KillingVault: KeyVault {
    let vault: FileKeyVault
    let points: KillPoints

    func load() async throws -> Data? {
        points.cross()
        return try await vault.load()
    }

    func store(_ value: Data) async throws {
        points.cross()
        try await vault.store(value)
        points.cross()
    }

    func erase() async throws {
        points.cross()
        try await vault.erase()
        points.cross()
    }
}

/// Writes down what it was told.
struct LoggingHandler: ExpiredMessageHandler {
    let file: URL

    func remove(_ messages: [MessageReference]) async throws {
        if !FileManager.default.fileExists(atPath: file.path) { try Data().write(to: file) }
        let handle = try FileHandle(forWritingTo: file)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(messages.map { "\($0.id.rawValue)\n" }.joined().utf8))
        try handle.close()
    }
}

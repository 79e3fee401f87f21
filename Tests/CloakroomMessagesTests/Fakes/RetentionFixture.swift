import CloakroomAWS
import CloakroomKit
@testable import CloakroomMessages
import CloakroomSQLite
import Foundation
import Synchronization

/// The clocks of a device, moved by a test.
final class TestClocks: Sendable {
    private let state: Mutex<RetentionClock.Reading>
    private let start = ContinuousClock.now
    /// Of what the server says.
    let corrections = ChangeFeed()

    init(server: Bool = true) {
        // Not at the end of any slot.
        let now: Milliseconds = 1_800_000_100_000
        state = Mutex(.init(wall: now, continuous: 1000, boot: "first", server: server ? now : nil))
    }

    var reading: RetentionClock.Reading { state.withLock { $0 } }
    var instant: ContinuousClock.Instant { start + .milliseconds(reading.continuous) }

    func pass(_ duration: Duration) {
        let passed = Milliseconds(duration)
        state.withLock {
            $0.wall += passed
            $0.continuous += passed
            $0.server = $0.server.map { $0 + passed }
        }
    }

    /// The user sets the clock, and no server says anything else.
    func set(by duration: Duration) {
        state.withLock {
            $0.wall += Milliseconds(duration)
            $0.server = nil
        }
    }

    func hearServer(ahead: Duration = .zero) {
        state.withLock { $0.server = $0.wall + Milliseconds(ahead) }
        corrections.send()
    }

    func restart(after duration: Duration) {
        state.withLock {
            $0.wall += Milliseconds(duration)
            $0.continuous = 500
            $0.boot = UUID().uuidString
            $0.server = nil
        }
    }
}

/// One user's device: a folder, a vault and clocks.
final class RetentionFixture {
    let folder: URL
    let vault: MemoryVault
    let clocks: TestClocks
    let handler = RecordingHandler()
    let recoveries = MemoryRecoveryJournal()
    let cache = RecordingCache()
    let releaser = ScriptedReleaser()
    let limits: RetentionLimits
    let chatKeyPrefix: String?
    let interruption = Interruption()
    private(set) var storage: SQLiteMessageStorage
    private(set) var retention: MessageRetention

    static let own = participant("own")
    static let peer = participant("peer")
    static let conversation = conversation("c1")

    static func participant(_ name: String) -> ParticipantID {
        guard let id = ParticipantID(rawValue: name) else { preconditionFailure("1 to 128 bytes") }
        return id
    }

    static func conversation(_ name: String) -> ConversationID {
        guard let id = ConversationID(rawValue: name) else { preconditionFailure("1 to 128 bytes") }
        return id
    }

    init(
        limits: RetentionLimits = RetentionLimits(), server: Bool = true, chatKeyPrefix: String? = "chat/"
    ) async throws {
        self.chatKeyPrefix = chatKeyPrefix
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "messages-\(UUID().uuidString)", isDirectory: true)
        (self.limits, vault, clocks) = (limits, MemoryVault(), TestClocks(server: server))
        (storage, retention) = try await Self.open(
            folder, vault, clocks, limits, handler, recoveries, cache, releaser, interruption, chatKeyPrefix)
        try await retention.setMembers([Self.own, Self.peer], of: Self.conversation)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private static func open(
        _ folder: URL, _ vault: MemoryVault, _ clocks: TestClocks, _ limits: RetentionLimits,
        _ handler: RecordingHandler, _ recoveries: MemoryRecoveryJournal, _ cache: RecordingCache,
        _ releaser: ScriptedReleaser, _ interruption: Interruption, _ chatKeyPrefix: String?,
        beginningAnewIfLost: Bool = false
    ) async throws -> (SQLiteMessageStorage, MessageRetention) {
        let storage = try await SQLiteMessageStorage(
            folder: folder, vault: vault, beginningAnewIfLost: beginningAnewIfLost, reading: clocks.reading,
            step: { try interruption.cross($0) })
        let runtime = RuntimeDependencies(
            wallClock: { clocks.reading.wall.date }, now: { clocks.instant },
            sleep: { try await interruption.sleep($0) })
        let retention = try await MessageRetention(
            of: own, storage: storage, limits: limits, handlers: [handler], recoveries: recoveries, cache: cache,
            releaser: releaser, chatKeyPrefix: chatKeyPrefix, runtime: runtime, timeCorrections: clocks.corrections,
            read: { clocks.reading })
        return (storage, retention)
    }

    /// Another launch of the app.
    func relaunch(vault: MemoryVault? = nil, beginningAnewIfLost: Bool = false) async throws {
        await storage.close()
        try await open(vault, beginningAnewIfLost: beginningAnewIfLost)
    }

    /// Another launch after the process was killed.
    func relaunchKilled() async throws {
        await storage.release()
        try await open(nil)
    }

    private func open(_ vault: MemoryVault?, beginningAnewIfLost: Bool = false) async throws {
        (storage, retention) = try await Self.open(
            folder, vault ?? self.vault, clocks, limits, handler, recoveries, cache, releaser, interruption,
            chatKeyPrefix, beginningAnewIfLost: beginningAnewIfLost)
    }

    // MARK: Messages

    func incoming(
        _ id: String, _ policy: MessageRetentionPolicy = .keep, from sender: ParticipantID = peer,
        in conversation: ConversationID = conversation, age: Duration = .zero, relayTime: Date? = nil,
        attachments: [MessageAttachment] = [], quotes: String? = nil, by quotedAuthor: ParticipantID = peer
    ) throws -> IncomingMessage {
        IncomingMessage(
            id: try id.asMessage, sender: AuthenticatedSender(sender, in: conversation),
            stamp: MessageStamp(policy: policy, age: age), relayTime: relayTime, body: Self.body(id),
            attachments: attachments,
            quotes: try quotes.map { MessageReference(try $0.asMessage, by: quotedAuthor, in: conversation) })
    }

    static func body(_ id: String) -> Data { Data("the body of \(id), which must not be found".utf8) }

    @discardableResult
    func admit(
        _ id: String, _ policy: MessageRetentionPolicy = .keep, from sender: ParticipantID = peer,
        age: Duration = .zero, relayTime: Date? = nil, attachments: [MessageAttachment] = [], quotes: String? = nil,
        by quotedAuthor: ParticipantID = peer
    ) async throws -> Admission {
        try await retention.admit(
            incoming(
                id, policy, from: sender, age: age, relayTime: relayTime, attachments: attachments, quotes: quotes,
                by: quotedAuthor))
    }

    /// Keeps what is admitted from now on.
    func want(_ policy: MessageRetentionPolicy, _ scope: HistoryScope = .newMessages) async throws {
        try await retention.updateRetentionPolicy(policy, in: Self.conversation, applyingTo: scope)
    }

    /// What a peer's own device sends.
    func said(
        _ policy: MessageRetentionPolicy, version: Int64, cutBefore: Milliseconds? = nil,
        by author: ParticipantID = peer
    ) throws -> RetentionPolicyMessage {
        let cuts = cutBefore.map { RetentionCuts(policy, before: $0) } ?? RetentionCuts()
        let version = RegisterVersion(version) ?? .first
        return RetentionPolicyMessage(
            RetentionRegister(version: version, policy: policy, cuts: cuts), of: author, in: Self.conversation)
    }

    func receive(_ message: RetentionPolicyMessage, from sender: ParticipantID = peer) async throws {
        try await retention.receive(message, from: AuthenticatedSender(sender, in: Self.conversation))
    }

    /// The ids that are shown, the oldest first.
    func shown() async throws -> [String] {
        try await retention.messages(in: Self.conversation, limit: 10_000).reversed().map(\.id.rawValue)
    }

    /// Another connection to the database.
    func connect() throws -> SQLiteDatabase {
        try SQLiteDatabase(at: folder.appendingPathComponent("messages.sqlite").path)
    }

    func count(_ table: String) throws -> Int64 {
        try connect().first("SELECT count(*) FROM \(table)") { $0.integer(0) } ?? 0
    }

    /// Messages that were here and are not any more.
    func tombstoneCount() throws -> Int64 { try count(Self.tombstones) }

    static let tombstones = "known WHERE NOT EXISTS (SELECT 1 FROM message WHERE message.seq = known.seq)"

    /// The names of all files that hold some bytes.
    func files(with bytes: Data) throws -> [String] {
        let paths = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects as? [URL]
        return try (paths ?? []).filter { !$0.hasDirectoryPath }
            .filter { try Data(contentsOf: $0).range(of: bytes) != nil }.map(\.lastPathComponent)
    }

    var attachmentFiles: [String] {
        let path = folder.appendingPathComponent("attachments").path
        return (try? FileManager.default.contentsOfDirectory(atPath: path))?.sorted() ?? []
    }
}

extension String {
    struct NoIdentifier: Error {}

    var asMessage: MessageID {
        get throws {
            guard let id = MessageID(rawValue: self) else { throw NoIdentifier() }
            return id
        }
    }

    /// This user's message of this name.
    var asOwn: MessageReference {
        get throws { MessageReference(try asMessage, by: RetentionFixture.own, in: RetentionFixture.conversation) }
    }

    /// The peer's message of this name.
    var asReference: MessageReference {
        get throws { MessageReference(try asMessage, by: RetentionFixture.peer, in: RetentionFixture.conversation) }
    }
}

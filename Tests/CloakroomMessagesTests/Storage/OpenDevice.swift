import CloakroomAWS
import CloakroomKit
@testable import CloakroomMessages
import Foundation

/// A device of the user `own` in a folder that the test chooses, with a vault in memory.
struct OpenDevice {
    let folder: URL
    let vault: MemoryVault
    let clocks: TestClocks
    let storage: SQLiteMessageStorage
    let retention: MessageRetention

    /// - Parameter step: called at each step of a purge.
    init(
        in folder: URL, vault: MemoryVault = MemoryVault(), clocks: TestClocks = TestClocks(),
        step: @escaping @Sendable (PurgeStep) throws -> Void = { _ in }
    ) async throws {
        (self.folder, self.vault, self.clocks) = (folder, vault, clocks)
        storage = try await SQLiteMessageStorage(folder: folder, vault: vault, reading: clocks.reading, step: step)
        retention = try await MessageRetention(
            of: RetentionFixture.own, storage: storage, runtime: RuntimeDependencies(now: { clocks.instant }),
            read: { clocks.reading })
    }

    /// Another launch of the app.
    func relaunched() async throws -> OpenDevice {
        await storage.close()
        return try await OpenDevice(in: folder, vault: vault, clocks: clocks)
    }

    /// Another launch after the process was killed.
    func relaunchedKilled() async throws -> OpenDevice {
        await storage.release()
        return try await OpenDevice(in: folder, vault: vault, clocks: clocks)
    }

    /// Keeps what is admitted from now on.
    func keepAll() async throws {
        try await retention.updateRetentionPolicy(
            .keep, in: RetentionFixture.conversation, applyingTo: .newMessages)
    }

    /// A message from a peer.
    static func message(
        _ id: String, _ policy: MessageRetentionPolicy, from sender: ParticipantID = RetentionFixture.peer,
        relayTime: Date? = nil, byteCount: Int = 100
    ) throws -> IncomingMessage {
        IncomingMessage(
            id: try id.asMessage, sender: AuthenticatedSender(sender, in: RetentionFixture.conversation),
            stamp: MessageStamp(policy: policy), relayTime: relayTime, body: Data(count: byteCount))
    }

    /// The ids that are shown, the oldest first.
    func shown() async throws -> [String] {
        try await retention.messages(in: RetentionFixture.conversation, limit: 10_000).reversed().map(\.id.rawValue)
    }
}

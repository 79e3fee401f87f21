package import CloakroomAWS
public import CloakroomKit
import Foundation

/// Messages of one user that end when both sides agreed that they do.
///
/// The app supplies the encrypted channel: it sends ``controlMessage(in:)`` at each connect and what
/// ``updateRetentionPolicy(_:in:applyingTo:)`` returns at each change, gives what arrives to ``receive(_:from:)`` and
/// ``admit(_:)-(IncomingMessage)``, and a ``MessageStamp`` goes with each message. The server sees none of it.
///
/// ```swift
/// let storage = try await SQLiteMessageStorage(folder: folder, vault: vault)
/// let retention = try await MessageRetention(of: user, storage: storage, handlers: [notifications])
/// async let purging: Void = retention.run()
/// ```
public actor MessageRetention {
    /// This user.
    public nonisolated let participant: ParticipantID
    public nonisolated let limits: RetentionLimits
    let storage: SQLiteMessageStorage
    let memory = MemoryMessageStorage()
    let handlers: [any ExpiredMessageHandler]
    let recoveries: (any RecoveryJournal)?
    let cache: (any PurgeableAssetCache)?
    let releaser: (any ImageReleaser)?
    let read: @Sendable () async -> RetentionClock.Reading
    /// Tells when the server's time becomes known, or is another one than ``read`` gave before.
    let timeCorrections: ChangeFeed?
    let runtime: RuntimeDependencies

    /// The purge that is under way.
    var currentPurge: Task<PurgeReport, any Error>?
    /// What calls of ``run()`` wait with.
    var sleeps: [Int: Task<Void, any Error>] = [:]
    var lastSleep = 0
    /// Counts what may have brought the next deadline forward.
    var changes = 0

    /// - Parameters:
    ///   - participant: this user, with the name that peers know.
    ///   - storage: of this user alone, and of one of these.
    ///   - client: what the server's time comes from; without one, and without a relay, a message lasts somewhat longer
    ///     when the device was off.
    ///   - recoveries: the journal of the app's ``AssetRecovery``: what it holds of purged images goes.
    ///   - cache: the app's cache of images.
    ///   - releaser: deletes images from the bucket, as a ``CloakroomClient`` does; `nil` leaves them to the bucket's rule.
    ///   - chatKeyPrefix: what the keys of images for chats begin with, the worker's `uploads.chatKeyPrefix`. Of images that
    ///     peers name, only those end with their messages: another one may be a group's picture. `nil`: images of this user's
    ///     own messages alone.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeOwnerMismatch`` when the storage is another participant's;
    ///   ``CloakroomError/Code/storeFailed`` when that cannot be read.
    public init(
        of participant: ParticipantID, storage: SQLiteMessageStorage, limits: RetentionLimits = RetentionLimits(),
        client: CloakroomClient? = nil, handlers: [any ExpiredMessageHandler] = [],
        recoveries: (any RecoveryJournal)? = nil, cache: (any PurgeableAssetCache)? = nil,
        releaser: (any ImageReleaser)? = nil, chatKeyPrefix: String? = nil
    ) async throws {
        let clock = client?.serverClock
        try await self.init(
            of: participant, storage: storage, limits: limits, handlers: handlers, recoveries: recoveries, cache: cache,
            releaser: releaser, chatKeyPrefix: chatKeyPrefix, runtime: RuntimeDependencies(),
            timeCorrections: clock?.corrections, read: { .current(server: await clock?.current) })
    }

    /// - Parameters:
    ///   - timeCorrections: of the server's time that `read` gives.
    ///   - read: gives what the clocks show.
    package init(
        of participant: ParticipantID, storage: SQLiteMessageStorage, limits: RetentionLimits = RetentionLimits(),
        handlers: [any ExpiredMessageHandler] = [], recoveries: (any RecoveryJournal)? = nil,
        cache: (any PurgeableAssetCache)? = nil, releaser: (any ImageReleaser)? = nil, chatKeyPrefix: String? = nil,
        runtime: RuntimeDependencies = RuntimeDependencies(), timeCorrections: ChangeFeed? = nil,
        read: @escaping @Sendable () async -> RetentionClock.Reading
    ) async throws {
        self.participant = participant
        self.limits = limits
        self.storage = storage
        self.handlers = handlers
        self.recoveries = recoveries
        self.cache = cache
        self.releaser = releaser
        self.runtime = runtime
        self.timeCorrections = timeCorrections
        self.read = read
        try await storage.begin(for: participant, limits: limits, chatKeyPrefix: chatKeyPrefix)
        // What fails is repeated at the next launch, or by the app; until then nothing new is kept.
        if await storage.isErasing { try? await finishErasing() }
    }

    // MARK: The agreement

    /// Who takes part in a conversation now. Who has left no longer counts for new messages.
    public func setMembers(_ members: Set<ParticipantID>, of conversation: ConversationID) async throws {
        try await storage.setMembers(members, of: conversation)
    }

    /// What the participants want, and what holds for new messages.
    public func agreement(in conversation: ConversationID) async throws -> RetentionAgreement {
        try await storage.agreement(in: conversation)
    }

    /// What this user wants; ``MessageRetentionPolicy/noStorage`` until it is changed.
    public func retentionPolicy(in conversation: ConversationID) async throws -> MessageRetentionPolicy {
        try await storage.agreement(in: conversation).own
    }

    /// What to send at each connect, to each participant: the whole of what this user has said.
    public func controlMessage(in conversation: ConversationID) async throws -> RetentionPolicyMessage {
        RetentionPolicyMessage(
            try await storage.ownRegister(in: conversation), of: participant, in: conversation)
    }

    /// Changes what this user wants. Deadlines only fall: with a longer policy only new messages are kept longer.
    ///
    /// - Parameter scope: with ``HistoryScope/history`` messages that are here end by the new policy, too, and at peers
    ///   those that this user wrote; ``impact(of:in:)`` says how many are over then.
    /// - Returns: what to send to each participant.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/storeFailed``.
    @discardableResult
    public func updateRetentionPolicy(
        _ policy: MessageRetentionPolicy, in conversation: ConversationID, applyingTo scope: HistoryScope
    ) async throws -> RetentionPolicyMessage {
        let reading = await read()
        let clock = try await storage.clock(at: reading)
        let newest = await memory.newestBase(in: conversation, clock)
        let register = try await storage.change(
            to: policy, in: conversation, applyingTo: scope, newestInMemory: newest)
        await followCuts(in: conversation)
        return RetentionPolicyMessage(register, of: participant, in: conversation)
    }

    /// Takes what a peer, or another device of this user, wants.
    ///
    /// - Parameter sender: from the channel.
    /// - Throws: ``CloakroomError/Code/invalidControlMessage``: nothing changed.
    @discardableResult
    public func receive(
        _ message: RetentionPolicyMessage, from sender: AuthenticatedSender
    ) async throws -> RetentionAgreement {
        let clock = try await self.clock()
        // What may be known of the time at most: a clock that lags must not refuse what is right.
        let time = max(clock.trusted.shared, clock.plausible.shared)
        guard let register = try message.register(from: sender, at: time) else {
            try await storage.noteLaterVersion(of: sender.participant, in: sender.conversation)
            return try await storage.agreement(in: sender.conversation)
        }
        try await storage.join(register, of: sender.participant, in: sender.conversation)
        await followCuts(in: sender.conversation)
        return try await storage.agreement(in: sender.conversation)
    }

    /// How many of the messages that are here would be over by a policy with ``HistoryScope/history``.
    public func impact(
        of policy: MessageRetentionPolicy, in conversation: ConversationID
    ) async throws -> Int {
        let times = try await clock().plausible
        return try await storage.impact(of: policy, in: conversation, hiding: times)
            + (await memory.impact(of: policy, in: conversation, hiding: times))
    }

    /// Has deadlines follow the cuts of a conversation, once; for changes that come meanwhile there is the next purge.
    func applyCuts(in conversation: ConversationID) async throws {
        // First: it has room where the disk is full.
        try await lowerMemory(in: conversation)
        var scan: SQLiteMessageStorage.CutScan?
        repeat {
            scan = try await storage.applyCuts(in: conversation, after: scan)
            await Task.yield()
        } while scan?.isStale == false
    }

    /// The same after what was said is written down. What cannot be written of it now, as on a full disk, stays hidden, and is
    /// for the next purge.
    private func followCuts(in conversation: ConversationID) async {
        try? await applyCuts(in: conversation)
        wake()
    }

    /// The same for what is in memory.
    func lowerMemory(in conversation: ConversationID) async throws {
        var quoted: [MessageReference: QuotedTerm] = [:]
        for message in await memory.beginLowering(in: conversation) {
            switch try await storage.quoted(message) {
            case .known(let record): quoted[message] = record.term
            case .over: quoted[message] = .over
            case .deleted, nil: break
            }
        }
        let clock = await storage.clock
        let state = try await storage.conversation(conversation)?.state ?? RetentionState()
        let (participant, limits) = (participant, limits)
        await memory.lower(
            in: conversation, clock: clock, limits: limits,
            { state.term(of: $0.inputs(clock), reader: participant, limits: limits) }, quoted: quoted)
    }

    /// A deadline may have come forward.
    func wake() {
        changes += 1
        for sleep in sleeps.values { sleep.cancel() }
    }

    /// The time now.
    func clock() async throws -> RetentionClock { try await storage.clock(at: await read()) }
}

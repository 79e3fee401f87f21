import CloakroomKit
public import Foundation

extension MessageRetention {
    // MARK: New messages

    /// What goes with a message that is written now.
    public func stamp(in conversation: ConversationID) async throws -> MessageStamp {
        MessageStamp(policy: try await agreement(in: conversation).effective)
    }

    /// What goes with a message that was written before, as when the device was offline: with its policy of then, and its
    /// age.
    ///
    /// - Returns: `nil` when it is not here any more, or over for certain: do not send it.
    /// - Throws: ``CloakroomError/Code/unavailable`` while it is only hidden, as the device's clock may be ahead: keep it, and
    ///   repeat this later.
    public func stamp(of message: MessageReference) async throws -> MessageStamp? {
        let clock = try await self.clock()
        if let record = try await record(message, hiding: clock.plausible) {
            let now = record.base.clock.isDevice ? clock.device : clock.shared
            return MessageStamp(policy: record.draft.stamp, age: .milliseconds(max(0, now.minus(record.base.time))))
        }
        guard try await record(message, hiding: clock.trusted) == nil else {
            throw CloakroomError(
                .unavailable, "this device's clock may be wrong: whether the message is over is not known yet")
        }
        return nil
    }

    private func record(
        _ message: MessageReference, hiding times: ClockTimes
    ) async throws(CloakroomError) -> MessageRecord? {
        guard let record = await memory.record(message) else { return try await storage.record(message, hiding: times) }
        return times.isDue(record.term.local, base: record.base) ? nil : record
    }

    /// Keeps a message of this user, under the policy that holds now.
    ///
    /// On a device that knows neither the server's time nor a relay's, a change with the history can reach a message that is
    /// written after it. One that is over at once by that is not kept here, and is to be sent all the same.
    ///
    /// - Returns: its stamp, to be sent with it.
    /// - Throws: ``CloakroomError/Code/invalidRequest`` for an id that this user has used before in this conversation, and
    ///   for a quote that is over, or of another conversation, besides
    ///   ``CloakroomError/Code/diskFull`` and ``CloakroomError/Code/storeFailed``.
    public func keep(_ message: OutgoingMessage) async throws -> MessageStamp {
        var stamp = try await stamp(in: message.conversation)
        if let quotes = message.quotes {
            guard quotes.conversation == message.conversation else {
                throw CloakroomError(.invalidRequest, "the message that is quoted is of another conversation")
            }
            stamp.policy = try await policy(stamp.policy, quoting: quotes)
        }
        let draft = MessageDraft(
            id: message.id, conversation: message.conversation, author: participant, stamp: stamp.policy,
            body: message.body, attachments: message.attachments.map(\.withoutFile), quotes: message.quotes)
        switch try await admit([(draft, message.relayTime, .zero)])[0] {
        // What was written while the user left the conversation is sent all the same.
        case .admitted(.kept), .ended: return stamp
        case .admitted(.arrivedExpired):
            guard message.quotes == nil else { throw Self.quotedIsOver }
            return stamp
        case .admitted(.replay): throw CloakroomError(.invalidRequest, "a message has been given this id before")
        }
    }

    /// Peers who do not have the quoted message learn of its end by the stamp.
    private func policy(
        _ policy: MessageRetentionPolicy, quoting message: MessageReference
    ) async throws -> MessageRetentionPolicy {
        let clock = try await self.clock()
        var quoted = await memory.record(message).map { QuotedRecord($0) }
        if quoted == nil {
            switch try await storage.quoted(message) {
            case .known(let record): quoted = record
            case .over, .deleted: throw Self.quotedIsOver
            // Another device of this user may have it.
            case nil: return policy
            }
        }
        guard let quoted else { return policy }
        return policy.quoting(
            quoted.stamp, until: quoted.term.term.shared, within: limits,
            at: quoted.term.clock.isDevice ? clock.device : clock.shared)
    }

    private static let quotedIsOver = CloakroomError(.invalidRequest, "the message that is quoted is over")

    /// Keeps a message that has arrived, if it is new and not over.
    ///
    /// A message of this user, from another device of theirs, is admitted the same way. One that is not to be
    /// stored, and whose conversation is closed or deleted meanwhile, ends with the others there: it counts as arrived too
    /// late.
    public func admit(_ message: IncomingMessage) async throws -> Admission { try await admit([message])[0] }

    /// The same for many, all or none, as after a connect.
    ///
    /// - Returns: what became of each, in their order.
    public func admit(_ messages: [IncomingMessage]) async throws -> [Admission] {
        try await admit(
            messages.map { message in
                let draft = MessageDraft(
                    id: message.id, conversation: message.sender.conversation, author: message.sender.participant,
                    stamp: message.stamp.policy, body: message.body,
                    attachments: message.attachments.map(\.withoutFile),
                    quotes: message.quotes.flatMap { $0.conversation == message.sender.conversation ? $0 : nil })
                return (draft, message.relayTime, message.stamp.age)
            }
        ).map { outcome in
            switch outcome {
            case .admitted(let admission): admission
            case .ended: .arrivedExpired
            }
        }
    }

    private enum Outcome {
        case admitted(Admission)
        /// It is in memory only, and its conversation was closed before it was there.
        case ended
    }

    private func admit(
        _ messages: [(draft: MessageDraft, relayTime: Date?, age: Duration)]
    ) async throws -> [Outcome] {
        let openings = await memory.openings(of: Set(messages.map(\.draft.conversation)))
        let reading = await read()
        var arriving: [ArrivingMessage] = []
        for (draft, relayTime, age) in messages {
            var quoted: QuotedRecord?
            if let quotes = draft.quotes, let record = await memory.record(quotes) { quoted = QuotedRecord(record) }
            arriving.append(
                ArrivingMessage(
                    draft: draft, relayTime: relayTime.map { Milliseconds($0) }, age: Milliseconds(age), quoted: quoted)
            )
        }
        var outcomes: [Outcome] = []
        // In which deadlines in memory may fall by what came, or by what was said meanwhile.
        var lowered: Set<ConversationID> = []
        for decision in try await storage.admit(arriving, reading: reading) {
            switch decision {
            case .stored(let until): outcomes.append(.admitted(.kept(until: until?.date)))
            case .inMemory(let record):
                let insertion = await memory.insert(record, since: openings)
                // What it quotes may have fallen before this was here.
                if insertion == .insertedLate || record.draft.quotes != nil {
                    lowered.insert(record.draft.conversation)
                }
                if case .ended = insertion {
                    await storage.endNotes([record.draft.reference])
                    outcomes.append(.ended)
                } else {
                    outcomes.append(.admitted(.kept(until: record.term.local?.date)))
                }
            case .arrivedExpired: outcomes.append(.admitted(.arrivedExpired))
            case .replay: outcomes.append(.admitted(.replay))
            }
        }
        lowered.formUnion(await memory.conversations(quoting: messages.map(\.draft.reference)))
        // They are kept: what fails here is done with the next change or purge.
        for conversation in lowered { try? await lowerMemory(in: conversation) }
        wake()
        return outcomes
    }

    /// How many messages of a conversation were over when they arrived, for the user to know.
    public func arrivedExpiredCount(in conversation: ConversationID) async throws -> Int {
        try await storage.arrivedExpired(in: conversation)
    }

    // MARK: Reading

    /// A page of a conversation, the newest message first.
    ///
    /// - Parameter before: the ``StoredMessage/cursor`` of the last message of the page before; `nil` for the newest.
    public func messages(
        in conversation: ConversationID, before: MessageCursor? = nil, limit: Int = 50
    ) async throws -> [StoredMessage] {
        let times = try await clock().plausible
        var messages: [StoredMessage] = []
        for part in [storage, memory] as [any MessageStorage] {
            messages += try await part.page(of: conversation, before: before, limit: limit, hiding: times)
        }
        return Array(messages.sorted { $0.cursor > $1.cursor }.prefix(max(limit, 0)))
    }

    /// - Returns: `nil` for a message that is not here, or over.
    public func message(_ message: MessageReference) async throws -> StoredMessage? {
        let times = try await clock().plausible
        for part in [memory, storage] as [any MessageStorage] {
            if let message = try await part.message(message, hiding: times) { return message }
        }
        return nil
    }

    // MARK: Attachments

    /// Keeps the bytes of an attachment, sealed with its message; where that is in memory, in memory.
    ///
    /// - Parameter position: in ``StoredMessage/attachments``.
    /// - Returns: `nil` when the message is not here, or has no such attachment.
    @discardableResult
    public func keepAttachment(
        _ bytes: Data, at position: Int, of message: MessageReference
    ) async throws -> AttachmentFile? {
        let file = SealedAttachments.newFile()
        if await memory.keep(bytes, as: file, position: position, of: message) { return file }
        return try await storage.keep(.bytes(bytes), position: position, of: message)
    }

    /// The same for a file of the app's, which is read in pieces; the app removes it.
    @discardableResult
    public func keepAttachment(
        contentsOf file: URL, at position: Int, of message: MessageReference
    ) async throws -> AttachmentFile? {
        if await memory.record(message) != nil {
            let bytes: Data
            do { bytes = try Data(contentsOf: file) } catch {
                throw CloakroomError(of: error, otherwise: .unreadableFile, file.lastPathComponent)
            }
            return try await keepAttachment(bytes, at: position, of: message)
        }
        return try await storage.keep(.file(file), position: position, of: message)
    }

    /// Gives an attachment that was kept without a key the object that was uploaded for it, as if it had come with the message.
    ///
    /// Keep the message first, then upload, call this, and send the message: whatever ends the app on the way, the message is
    /// here, and the image goes with it. Repeating it changes nothing, and an attachment keeps the first object that it got.
    ///
    /// - Parameters:
    ///   - assetKey: the object's key in the bucket.
    ///   - releaseToken: of the upload; kept for this user's own message alone.
    ///   - position: in ``StoredMessage/attachments``.
    /// - Returns: `false` when the message is over, deleted or not known, or has no such attachment: do not send it with this
    ///   object. One of this user's is released, at the latest with the message, unless another message has it.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/storeFailed``; repeat it.
    public func setAttachment(
        assetKey: String, releaseToken: String? = nil, at position: Int, of message: MessageReference
    ) async throws -> Bool {
        // Only an uploader has a token.
        let token = message.author == participant ? releaseToken : nil
        switch try await storage.setImage(assetKey, token, at: position, of: message) {
        case .stored?: return true
        case .inMemory?: return await memory.setImage(assetKey, token, at: position, of: message)
        case nil:
            // There may be something to be released.
            wake()
            return false
        }
    }

    /// - Throws: ``CloakroomError/Code/unreadableFile`` when there is no such file, or its message is over.
    public func attachment(_ file: AttachmentFile) async throws -> Data {
        let times = try await clock().plausible
        if let bytes = await memory.bytes(file, hiding: times) { return bytes }
        return try await storage.data(of: file, hiding: times)
    }
}

extension MessageAttachment {
    /// Files are this device's own.
    fileprivate var withoutFile: MessageAttachment {
        MessageAttachment(assetKey: assetKey, releaseToken: releaseToken)
    }
}

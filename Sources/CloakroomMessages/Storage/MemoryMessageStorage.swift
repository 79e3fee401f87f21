import CloakroomKit
import Foundation

/// Messages that are in memory only: they end when their conversation closes, or with the process. What is then left to be
/// done is in a ``MemoryNote`` each.
package actor MemoryMessageStorage: MessageStorage {
    private var conversations: [ConversationID: [MessageRecord]] = [:]
    private var files: [AttachmentFile: Data] = [:]
    /// Behind those that are stored when both were sent in the same millisecond.
    private var lastSequence: Int64 = 1 << 62
    /// How often conversations were closed, all at once included.
    private var closings: [ConversationID: Int] = [:]
    private var allClosings = 0
    /// How often deadlines were lowered.
    private var lowerings: [ConversationID: Int] = [:]

    package init() {}

    /// What is noted of conversations before a message is admitted to them: see ``insert(_:since:)``.
    struct Openings: Sendable {
        fileprivate var closings: [ConversationID: Int]
        fileprivate var allClosings: Int
        fileprivate var lowerings: [ConversationID: Int]
    }

    func openings(of conversations: Set<ConversationID>) -> Openings {
        Openings(
            closings: closings.filter { conversations.contains($0.key) }, allClosings: allClosings,
            lowerings: lowerings.filter { conversations.contains($0.key) })
    }

    enum Insertion: Sendable {
        case inserted
        /// Deadlines were lowered since it was decided to keep the message: its own one may have to be, too.
        case insertedLate
        /// Its conversation was closed since, so that the message has ended.
        case ended
    }

    /// - Parameter openings: from before it was decided to keep the message.
    func insert(_ record: MessageRecord, since openings: Openings) -> Insertion {
        let conversation = record.draft.conversation
        guard allClosings == openings.allClosings, closings[conversation] == openings.closings[conversation] else {
            return .ended
        }
        let isLate = lowerings[conversation] != openings.lowerings[conversation]
        // It is here already.
        guard self.record(record.draft.reference) == nil else { return isLate ? .insertedLate : .inserted }
        var record = record
        lastSequence += 1
        record.sequence = lastSequence
        var records = conversations[record.draft.conversation] ?? []
        let place = records.firstIndex { $0.cursor > record.cursor } ?? records.endIndex
        records.insert(record, at: place)
        conversations[record.draft.conversation] = records
        return isLate ? .insertedLate : .inserted
    }

    func record(_ message: MessageReference) -> MessageRecord? {
        conversations[message.conversation]?.first { $0.draft.reference == message }
    }

    /// Removes what is due; what is hidden and not certainly over stays.
    ///
    /// - Returns: what was removed, for the handlers.
    func removeDue(_ times: ClockTimes) -> [MessageDraft] {
        conversations.keys.flatMap { remove(from: $0) { times.isDue($0.term.local, base: $0.base) } }
    }

    /// Removes all messages of a conversation.
    func close(_ conversation: ConversationID) -> [MessageDraft] {
        closings[conversation, default: 0] += 1
        return remove(from: conversation) { _ in true }
    }

    /// Removes one message.
    ///
    /// - Returns: whether it was here.
    func remove(_ message: MessageReference) -> Bool {
        !remove(from: message.conversation) { $0.draft.reference == message }.isEmpty
    }

    func closeAll() {
        allClosings += 1
        closings = [:]
        conversations = [:]
        files = [:]
    }

    private func remove(
        from conversation: ConversationID, where isRemoved: (MessageRecord) -> Bool
    ) -> [MessageDraft] {
        guard let records = conversations[conversation] else { return [] }
        let removed = records.filter(isRemoved)
        guard !removed.isEmpty else { return [] }
        conversations[conversation] = records.count == removed.count ? nil : records.filter { !isRemoved($0) }
        for record in removed {
            for attachment in record.draft.attachments { attachment.file.map { files[$0] = nil } }
        }
        return removed.map(\.draft)
    }

    /// Lowers deadlines to what cuts and quoted messages say now; after ``beginLowering(in:)``.
    ///
    /// - Parameters:
    ///   - term: of one message, without what it quotes.
    ///   - quoted: what those here quote elsewhere.
    func lower(
        in conversation: ConversationID, clock: RetentionClock, limits: RetentionLimits,
        _ term: (MessageRecord) -> MessageTerm, quoted: [MessageReference: QuotedTerm]
    ) {
        guard var records = conversations[conversation] else { return }
        let places = Dictionary(uniqueKeysWithValues: zip(records.map(\.draft.reference), records.indices))
        func place(quotedBy index: Int) -> Int? { records[index].draft.quotes.flatMap { places[$0] } }
        func lower(_ index: Int) {
            let record = records[index]
            var fallen = term(record)
            let here = place(quotedBy: index).map { records[$0] }
                .map { QuotedTerm(term: $0.term, clock: $0.base.clock) }
            if let quoted = here ?? record.draft.quotes.flatMap({ quoted[$0] }) {
                fallen = fallen.quoting(
                    quoted.converted(to: record.base.clock, clock), notBefore: limits.least(after: record.base.time))
            }
            records[index].term = record.term.lowered(to: fallen)
        }
        var done: Set<Int> = []
        for first in records.indices {
            // From a message to what it quotes, and so on, and back with the ends.
            var (chain, met): ([Int], Set<Int>) = ([], [])
            var next: Int? = first
            while let index = next, !done.contains(index), met.insert(index).inserted {
                chain.append(index)
                next = place(quotedBy: index)
            }
            for index in chain.reversed() { lower(index) }
            // In a circle the last one has met a former end of the first.
            if let next, met.contains(next) { for index in chain.reversed() { lower(index) } }
            done.formUnion(met)
        }
        conversations[conversation] = records
    }

    /// - Returns: what the messages of a conversation quote; what comes later is ``Insertion/insertedLate``.
    func beginLowering(in conversation: ConversationID) -> Set<MessageReference> {
        lowerings[conversation, default: 0] += 1
        return Set(conversations[conversation, default: []].compactMap(\.draft.quotes))
    }

    /// The conversations in which one of these messages is quoted.
    func conversations(quoting messages: [MessageReference]) -> Set<ConversationID> {
        // Mostly nothing is in memory.
        guard !conversations.isEmpty else { return [] }
        let messages = Set(messages)
        return Set(messages.map(\.conversation)).filter { conversation in
            conversations[conversation, default: []].contains { $0.draft.quotes.map(messages.contains) == true }
        }
    }

    // MARK: Attachments

    /// - Returns: `nil` when there is no such message or attachment.
    func keep(_ bytes: Data, as file: AttachmentFile, position: Int, of message: MessageReference) -> Bool {
        let conversation = message.conversation
        guard let index = conversations[conversation]?.firstIndex(where: { $0.draft.reference == message }),
            conversations[conversation]?[index].draft.attachments.indices.contains(position) == true
        else { return false }
        if let former = conversations[conversation]?[index].draft.attachments[position].file { files[former] = nil }
        conversations[conversation]?[index].draft.attachments[position].file = file
        files[file] = bytes
        return true
    }

    /// - Returns: `false` when there is no such message, or attachment without another object.
    func setImage(_ key: String, _ token: String?, at position: Int, of message: MessageReference) -> Bool {
        let conversation = message.conversation
        guard let index = conversations[conversation]?.firstIndex(where: { $0.draft.reference == message }),
            var attachments = conversations[conversation]?[index].draft.attachments,
            attachments.indices.contains(position), (attachments[position].assetKey ?? key) == key
        else { return false }
        attachments[position].assetKey = key
        attachments[position].releaseToken = token ?? attachments[position].releaseToken
        conversations[conversation]?[index].draft.attachments = attachments
        return true
    }

    /// - Returns: `nil` when it is not here, or when its message is over.
    func bytes(_ file: AttachmentFile, hiding times: ClockTimes) -> Data? {
        guard let bytes = files[file] else { return nil }
        let isShown = conversations.values.joined().contains { record in
            record.draft.attachments.contains { $0.file == file }
                && !times.isDue(record.term.local, base: record.base)
        }
        return isShown ? bytes : nil
    }

    // MARK: MessageStorage

    package func page(
        of conversation: ConversationID, before: MessageCursor?, limit: Int, hiding times: ClockTimes
    ) -> [StoredMessage] {
        let records = conversations[conversation, default: []].reversed().lazy
            .filter { record in before.map { record.cursor < $0 } ?? true }
            .filter { !times.isDue($0.term.local, base: $0.base) }
        return records.prefix(max(limit, 0)).map(\.stored)
    }

    package func message(_ message: MessageReference, hiding times: ClockTimes) -> StoredMessage? {
        record(message).flatMap { times.isDue($0.term.local, base: $0.base) ? nil : $0.stored }
    }

    package func impact(
        of policy: MessageRetentionPolicy, in conversation: ConversationID, hiding times: ClockTimes
    ) -> Int {
        guard let limit = RetentionCuts.duration(of: policy) else { return 0 }
        return conversations[conversation, default: []].count { record in
            !times.isDue(record.term.local, base: record.base)
                && times.isDue(record.base.time.plus(limit), base: record.base)
        }
    }

    package func newestBase(in conversation: ConversationID, _ clock: RetentionClock) -> NewestBase? {
        conversations[conversation, default: []].reduce(nil) { .later($0, NewestBase($1.base, clock)) }
    }

    package func remaining(_ times: ClockTimes) -> Milliseconds? {
        conversations.values.joined().compactMap { times.remaining(until: $0.term.local, base: $0.base) }.min()
    }
}

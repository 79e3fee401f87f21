import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
import Foundation

/// What is left to be done for a message in memory when it ends: its body is never written, and this is, sealed, so that
/// notifications and images of it do not stay when the process is killed.
struct MemoryNote: Sendable, Codable {
    struct Image: Sendable, Codable {
        var key: String
        /// Of this user's own images.
        var token: String?
    }

    var id: MessageID
    var author: ParticipantID
    var conversation: ConversationID
    var images: [Image]
    /// ``ReleaseTime/notBefore`` of its images; `nil`: at once.
    var notBefore: Milliseconds?

    init(_ draft: MessageDraft, releasedAt time: ReleaseTime) {
        (id, author, conversation) = (draft.id, draft.author, draft.conversation)
        notBefore = time.notBefore
        images = draft.attachments.compactMap { attachment in
            attachment.assetKey.map { Image(key: $0, token: attachment.releaseToken) }
        }
    }

    var reference: MessageReference { MessageReference(id, by: author, in: conversation) }

    /// One that was uploaded after the message was kept.
    mutating func add(_ image: Image) {
        guard let index = images.firstIndex(where: { $0.key == image.key }) else { return images.append(image) }
        images[index].token = image.token ?? images[index].token
    }

    /// That of a conversation's notes: rows of conversations count from 1, so it is no key of messages. It goes with the
    /// last of its notes.
    static func keyID(_ conversation: Int64) -> MessageKeyID {
        MessageKeyID(conversation: -conversation, slot: .endless)
    }

    static func context(_ id: [UInt8]) -> [UInt8] { Array("Cloakroom memory note 1".utf8) + [0] + id }

    func sealed(as id: [UInt8], with key: SealingKey) throws(CloakroomError) -> [UInt8] {
        do { return key.seal(Array(try JSONEncoder().encode(self)), context: Self.context(id)) } catch {
            throw CloakroomError(.storeFailed, "a note of a message cannot be written")
        }
    }
}

/// Notes of messages in memory that have ended.
struct EndedNotes: Sendable {
    /// As ``SQLiteMessageStorage/rowID(_:)`` gives them; some may have no note.
    var ids: [[UInt8]]
    var notes: [MemoryNote]
    /// Images of which the app's cache is to have nothing.
    var cachedKeys: [String]
    /// Images that no longer count as one of a message.
    var endedKeys: [String]
    fileprivate var images: ImageKeys = [:]
}

extension SQLiteMessageStorage {
    /// Messages in memory have ended: what handlers, caches and the bucket have of them is removed by
    /// ``finish(_:)``, after another launch if need be.
    func endNotes(_ messages: [MessageReference]) {
        let ids = messages.map { rowID($0) }
        endedNotes.formUnion(ids)
        // Without this their images are kept until the next launch.
        _ = try? database.transaction { database throws(SQLiteError) in
            for id in ids { try database.run("DELETE FROM memory_image WHERE message = ?", [.blob(id)]) }
        }
    }

    /// Those that are over, some at a time; `nil` when there are none.
    func nextEndedNotes(limit: Int = 256) throws(CloakroomError) -> EndedNotes? {
        let ids = Array(endedNotes.prefix(limit))
        guard !ids.isEmpty else { return nil }
        try endFormerImages()
        var ended = EndedNotes(ids: ids, notes: [], cachedKeys: [], endedKeys: [])
        for id in ids {
            guard let note = try note(id) else { continue }
            ended.notes.append(note)
        }
        let notes = ended.notes
        for note in notes {
            for image in note.images {
                ended.images[image.key] = ended.images[image.key] == true || isOwn(note)
            }
        }
        return ended
    }

    /// - Parameter id: as ``rowID(_:)`` gives it.
    /// - Returns: `nil` when there is none. One whose key is lost has nothing to say.
    func note(_ id: [UInt8]) throws(CloakroomError) -> MemoryNote? {
        let row = try database.perform { database throws(SQLiteError) in
            try database.first("SELECT conversation, content FROM memory_note WHERE id = ?", [.blob(id)]) {
                ($0.integer(0), $0.blob(1))
            }
        }
        guard let (conversation, sealed) = row,
            let content = keys.key(MemoryNote.keyID(conversation))?.open(sealed, context: MemoryNote.context(id))
        else { return nil }
        return try? JSONDecoder().decode(MemoryNote.self, from: Data(content))
    }

    /// Ends their images, after handlers have run: on a full disk these need not wait for room.
    func endImages(of ended: inout EndedNotes) throws(CloakroomError) {
        let (ids, images) = (ended.ids, ended.images)
        (ended.cachedKeys, ended.endedKeys) = try database.transaction { database throws(SQLiteError) in
            // Again: where it could not be written before, their own images would count as live.
            for id in ids { try database.run("DELETE FROM memory_image WHERE message = ?", [.blob(id)]) }
            return try divide(images, in: database)
        }
    }

    func isOwn(_ note: MemoryNote) -> Bool { note.author == reader }

    /// Removes notes whose handlers have run.
    ///
    /// - Returns: how many images are recorded for the bucket to delete.
    func finish(_ ended: EndedNotes) throws(CloakroomError) -> Int {
        let count = try database.transaction { database throws(SQLiteError) in
            for id in ended.ids { try database.run("DELETE FROM memory_note WHERE id = ?", [.blob(id)]) }
            // A message with the same image may have come meanwhile.
            for key in try divide(ended.images, in: database).ended { try end(key, in: database) }
            var count = 0
            for note in ended.notes where isOwn(note) {
                let time = note.notBefore.map { ReleaseTime(notBefore: $0) } ?? .atOnce
                for image in note.images {
                    count += try release(image.key, image.token, at: time, in: database) ? 1 : 0
                }
            }
            return count
        }
        endedNotes.subtract(ended.ids)
        return count
    }

    /// What the process before has left in memory has ended with it.
    func endFormerNotes() throws(CloakroomError) {
        endedNotes = Set(
            try database.perform { database throws(SQLiteError) in
                try database.rows("SELECT id FROM memory_note") { $0.blob(0) }
            })
        areFormerImagesHeld = true
    }

    /// Images of what former processes had in memory are no longer held; once, and before new ones are.
    func endFormerImages() throws(CloakroomError) {
        guard areFormerImagesHeld else { return }
        try database.transaction { database throws(SQLiteError) in
            try database.run("DELETE FROM memory_image")
            try database.run(
                "UPDATE release SET retry_at = 0 WHERE retry_at = ? AND NOT \(Self.isStored)",
                [.integer(Self.held), .text(reader?.rawValue ?? "")])
        }
        areFormerImagesHeld = false
    }

    /// The messages in memory, of this process and of former ones, for handlers.
    func noteReferences() throws(CloakroomError) -> [MessageReference] {
        let rows = try database.perform { database throws(SQLiteError) in
            try database.rows("SELECT id, conversation, content FROM memory_note") {
                ($0.blob(0), $0.integer(1), $0.blob(2))
            }
        }
        return rows.compactMap { id, conversation, sealed in
            keys.key(MemoryNote.keyID(conversation))?.open(sealed, context: MemoryNote.context(id))
                .flatMap { try? JSONDecoder().decode(MemoryNote.self, from: Data($0)) }?.reference
        }
    }
}

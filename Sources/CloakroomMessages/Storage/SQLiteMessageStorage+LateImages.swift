import CloakroomKit
import CloakroomSQLite

/// A message is kept before its image is uploaded, and has it afterwards as if both had come together.
extension SQLiteMessageStorage {
    /// Where the message is that an image was given to.
    enum ImagePlace: Sendable {
        case stored
        /// ``MemoryMessageStorage`` is to be told, too.
        case inMemory
    }

    /// - Parameter token: `nil` for messages of others.
    /// - Returns: `nil` when there is no such message, or attachment without another object. An image with a token is
    ///   recorded for the bucket to delete then.
    func setImage(
        _ key: String, _ token: String?, at position: Int, of message: MessageReference
    ) throws(CloakroomError) -> ImagePlace? {
        try endFormerImages()
        let id = rowID(message)
        let isOwn = message.author == reader
        if try setImage(key, token, at: position, ofStored: id, isOwn: isOwn) { return .stored }
        let note = try note(id)
        if let note, !endedNotes.contains(id) {
            try add(MemoryNote.Image(key: key, token: token), to: note, of: id)
            return .inMemory
        }
        // One that the message had is released when that has ended for others, too.
        let hadImage = note?.images.contains { $0.key == key } ?? false
        if let token, !hadImage { try releaseUnused(key, token) }
        return nil
    }

    /// - Returns: `false` also for a message that is being purged: what it had is recorded already.
    private func setImage(
        _ key: String, _ token: String?, at position: Int, ofStored id: [UInt8], isOwn: Bool
    ) throws(CloakroomError) -> Bool {
        guard let (row, conversation) = try row(id), row.record.sequence > conversation.deletedThrough else {
            return false
        }
        let sequence = row.record.sequence
        return try database.transaction { database throws(SQLiteError) in
            let count = try database.run(
                """
                UPDATE attachment SET asset_key = ?1, release_token = ifnull(?2, release_token)
                WHERE message = ?3 AND position = ?4 AND (asset_key IS NULL OR asset_key = ?1)
                AND NOT EXISTS (SELECT 1 FROM condemned WHERE seq = ?3)
                """, [.text(key), SQLiteValue(token), .integer(sequence), SQLiteValue(position)])
            if count > 0 { try attach(key, isOwn: isOwn, in: database) }
            return count > 0
        }
    }

    private func add(
        _ image: MemoryNote.Image, to former: MemoryNote, of id: [UInt8]
    ) throws(CloakroomError) {
        guard let conversation = try conversation(former.conversation)?.id,
            let key = keys.key(MemoryNote.keyID(conversation))
        else { throw CloakroomError(.storeFailed, "the key of a message's note is gone") }
        var note = former
        note.add(image)
        let sealed = try note.sealed(as: id, with: key)
        let isOwn = isOwn(former)
        try database.transaction { database throws(SQLiteError) in
            try database.run("UPDATE memory_note SET content = ? WHERE id = ?", [.blob(sealed), .blob(id)])
            try attach(image.key, isOwn: isOwn, inMemory: id, in: database)
        }
    }

    /// Records an image of this user's that its message did not get for the bucket to delete at once. When one that
    /// messages had is deleted is decided already.
    private func releaseUnused(_ key: String, _ token: String) throws(CloakroomError) {
        let (id, author) = (assetID(key), reader?.rawValue ?? "")
        try database.transaction { database throws(SQLiteError) in
            let isDecided = try database.first(
                """
                SELECT 1 FROM ended_asset WHERE id = ?1 UNION ALL
                SELECT 1 FROM condemned CROSS JOIN attachment ON attachment.message = condemned.seq
                CROSS JOIN message ON message.seq = condemned.seq WHERE asset_key = ?2 AND author = ?3
                """, [.blob(id), .text(key), .text(author)]
            ) { _ in true }
            guard isDecided == nil else { return }
            for key in try divide([key: true], in: database).ended { try end(key, in: database) }
            _ = try release(key, token, at: .atOnce, in: database)
        }
    }
}

import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
import Foundation

/// What the bytes of an attachment come from.
enum AttachmentSource: Sendable {
    case bytes(Data)
    case file(URL)
}

extension SQLiteMessageStorage {
    /// Seals the bytes of an attachment into a file of their own.
    ///
    /// - Returns: `nil` when the message is not here.
    func keep(
        _ source: AttachmentSource, position: Int, of id: MessageID
    ) throws(CloakroomError) -> AttachmentFile? {
        guard let (row, conversation) = try row(id), row.record.sequence > conversation.deletedThrough else {
            return nil
        }
        let sequence = row.record.sequence
        let former = try database.perform { database throws(SQLiteError) in
            try database.first(
                "SELECT file FROM attachment WHERE message = ? AND position = ?",
                [.integer(sequence), SQLiteValue(position)]
            ) { $0.textIfPresent(0) }
        }
        guard let former, let key = keys.key(row.keyID) else { return nil }
        let file = SealedAttachments.newFile()
        let fileKey = SealingKey.random()
        let context = SealingContext(conversation: row.conversation, message: sequence)
        let sealedKey = key.seal(fileKey.reveal(), context: context.fileKey(of: file))
        // The row first: a file that no row names is removed, and one that is named is purged.
        try database.perform { database throws(SQLiteError) in
            try database.run(
                "UPDATE attachment SET file = ?, file_key = ? WHERE message = ? AND position = ?",
                [.text(file.rawValue), .blob(sealedKey), .integer(sequence), SQLiteValue(position)])
        }
        switch source {
        case .bytes(let bytes): try files.write(bytes, to: file, key: fileKey, context: context)
        case .file(let url): try files.write(contentsOf: url, to: file, key: fileKey, context: context)
        }
        if let former = former.flatMap({ AttachmentFile(rawValue: $0) }) { try files.remove(former) }
        return file
    }

    /// - Throws: ``CloakroomError/Code/unreadableFile`` when there is no such file, or its message is over.
    func data(of file: AttachmentFile, hiding times: ClockTimes) throws(CloakroomError) -> Data {
        let found = try database.perform { database throws(SQLiteError) in
            try database.first(
                """
                SELECT attachment.file_key, message.name FROM attachment JOIN message ON message.seq = attachment.message
                WHERE file = ?
                """, [.text(file.rawValue)]
            ) { ($0.blob(0), $0.text(1)) }
        }
        guard let (sealedKey, name) = found, let id = MessageID(rawValue: name),
            let (row, conversation) = try row(id), try message(id, hiding: times) != nil
        else { throw CloakroomError(.unreadableFile, "there is no such attachment") }
        let context = SealingContext(conversation: conversation.id, message: row.record.sequence)
        guard let bytes = keys.key(row.keyID)?.open(sealedKey, context: context.fileKey(of: file)),
            let fileKey = SealingKey(bytes)
        else { throw CloakroomError(.unreadableFile, "the key of an attachment is gone") }
        return try files.data(of: file, key: fileKey, context: context)
    }
}

extension SealingContext {
    /// What the key of a file is bound to.
    func fileKey(of file: AttachmentFile) -> [UInt8] {
        Array("Cloakroom attachment key 1".utf8) + [0] + conversation.bigEndianBytes + message.bigEndianBytes
            + Array(file.rawValue.utf8)
    }
}

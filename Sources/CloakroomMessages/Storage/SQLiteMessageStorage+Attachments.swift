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
    /// - Returns: `nil` when the message is not here, or is being purged: its files are removed already.
    func keep(
        _ source: AttachmentSource, position: Int, of message: MessageReference
    ) throws(CloakroomError) -> AttachmentFile? {
        guard let (row, conversation) = try row(rowID(message)), row.record.sequence > conversation.deletedThrough
        else {
            return nil
        }
        let sequence = row.record.sequence
        let isCondemned = try database.perform { database throws(SQLiteError) in
            try database.first("SELECT 1 FROM condemned WHERE seq = ?", [.integer(sequence)]) { _ in true } ?? false
        }
        guard !isCondemned else { return nil }
        let former = try database.perform { database throws(SQLiteError) in
            try database.first(
                "SELECT file FROM attachment WHERE message = ? AND position = ?",
                [.integer(sequence), SQLiteValue(position)]
            ) { $0.textIfPresent(0).flatMap { AttachmentFile(rawValue: $0) } }
        }
        guard let former, let key = keys.key(row.keyID) else { return nil }
        let file = SealedAttachments.newFile()
        let fileKey = SealingKey.random()
        let context = SealingContext(conversation: row.conversation, message: sequence)
        let sealedKey = key.seal(fileKey.reveal(), context: context.fileKey(of: file))
        // The row last: it never names a file that is not there, and a former file is there until this one is. The file's
        // key is written with its name, so that what is left when the process ends in between cannot be opened; the next
        // opening removes it.
        do throws(CloakroomError) {
            try write(source, to: file, key: fileKey, context: context)
            try database.perform { database throws(SQLiteError) in
                try database.run(
                    "UPDATE attachment SET file = ?, file_key = ? WHERE message = ? AND position = ?",
                    [.text(file.rawValue), .blob(sealedKey), .integer(sequence), SQLiteValue(position)])
            }
        } catch {
            try? files.remove(file)
            throw error
        }
        if let former { try files.remove(former) }
        return file
    }

    private func write(
        _ source: AttachmentSource, to file: AttachmentFile, key: SealingKey, context: SealingContext
    ) throws(CloakroomError) {
        switch source {
        case .bytes(let bytes): try files.write(bytes, to: file, key: key, context: context)
        case .file(let url): try files.write(contentsOf: url, to: file, key: key, context: context)
        }
    }

    /// - Throws: ``CloakroomError/Code/unreadableFile`` when there is no such file, or its message is over.
    func data(of file: AttachmentFile, hiding times: ClockTimes) throws(CloakroomError) -> Data {
        let found = try database.perform { database throws(SQLiteError) in
            try database.first("SELECT file_key, message FROM attachment WHERE file = ?", [.text(file.rawValue)]) {
                ($0.blob(0), $0.integer(1))
            }
        }
        var chains = QuoteChains()
        guard let (sealedKey, sequence) = found,
            let (row, conversation) = try visibleRow(sequence: sequence, hiding: times, &chains)
        else {
            throw CloakroomError(.unreadableFile, "there is no such attachment")
        }
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

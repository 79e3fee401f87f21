@testable import CloakroomMessages
import CloakroomSQLite
import Foundation

/// A body as the database has it, for finding it again where it should not be.
struct SealedBody: Sendable, Hashable {
    let id: String
    let sequence: Int64
    let keyID: MessageKeyID
    let bytes: [UInt8]

    static func all(in folder: URL) throws -> [SealedBody] {
        try SQLiteDatabase(at: folder.appendingPathComponent("messages.sqlite").path).rows(
            "SELECT name, seq, conversation, slot, body FROM message"
        ) { row in
            SealedBody(
                id: row.text(0), sequence: row.integer(1),
                keyID: MessageKeyID(conversation: row.integer(2), slot: DeadlineSlot(rawValue: row.integer(3))),
                bytes: row.blob(4))
        }
    }

    /// Whether one of these keys opens it.
    func opens(with keys: [MessageKeyTable]) -> Bool {
        let context = SealingContext(conversation: keyID.conversation, message: sequence).body
        return keys.contains { $0[keyID]?.open(bytes, context: context) != nil }
    }
}

/// What is left of bodies in the files of a folder.
enum Remnants {
    /// Those of these bodies that lie in some file, whole.
    static func found(_ bodies: [SealedBody], in folder: URL) throws -> [SealedBody] {
        var places: [UInt64: [SealedBody]] = [:]
        // Their nonces are random.
        for body in bodies {
            places[body.bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }, default: []].append(body)
        }
        var found: Set<SealedBody> = []
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects as? [URL]
        for file in (files ?? []) where !file.hasDirectoryPath {
            let bytes = try [UInt8](Data(contentsOf: file))
            guard bytes.count >= 8 else { continue }
            bytes.withUnsafeBytes { buffer in
                for offset in 0...(buffer.count - 8) {
                    guard let bodies = places[buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self)] else {
                        continue
                    }
                    for body in bodies where buffer[offset...].starts(with: body.bytes) { found.insert(body) }
                }
            }
        }
        return Array(found)
    }
}

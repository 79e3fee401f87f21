import CloakroomBenchSupport
import CloakroomKit
import CloakroomKitTestSupport
import CloakroomMessages
import CloakroomSQLite
import Foundation
import Synchronization

/// What is left of purged messages on the disk after some weeks of a device, and what keys open of it.
struct Remnants {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        let life = try await DeviceLife(
            arguments.folder, seed: UInt64(try arguments.number("seed")), rounds: try arguments.number("rounds"))
        try await life.run()
        var counts = (purged: 0, whole: 0, open: 0, openByFormer: 0)
        for isRead in [true, false] {
            try await life.end(isRead: isRead)
            let gone = life.bodies.filter { !life.live.contains($0.name) }
            let found = Array(try SealedBody.found(Array(gone), in: life.device.folder))
            counts.purged += Set(gone.map(\.name)).count
            counts.whole += found.count
            let opener = Opener(folder: arguments.folder.appendingPathComponent("opener", isDirectory: true))
            counts.open += try await opener.opened(found, with: try life.keys()).count
            // What was there before each purge, as if no key had ever been dropped.
            var open: Set<SealedBody> = []
            for keys in life.formerKeys {
                open.formUnion(try await opener.opened(found.filter { !open.contains($0) }, with: keys))
            }
            counts.openByFormer += open.count
        }
        return [
            "purged": Double(counts.purged), "bodies": Double(counts.open), "unsealed": Double(counts.whole),
            "unrotated": Double(counts.openByFormer),
        ]
    }
}

/// All that opens bodies: the file of keys, and the master key that the vault had when it was written.
struct KeySet: Sendable, Hashable {
    let file: Data
    let master: Data
}

/// Opens sealed bodies as somebody would who has keys and finds rows: in a database with these rows and these keys.
struct Opener {
    let folder: URL

    func opened(_ bodies: [SealedBody], with keys: KeySet) async throws -> Set<SealedBody> {
        var (rest, opened): ([SealedBody], Set<SealedBody>) = (bodies, [])
        while !rest.isEmpty {
            // A row is bound to its number: one of each at a time.
            var numbers: Set<Int64> = []
            let part = rest.filter { numbers.insert($0.sequence).inserted }
            opened.formUnion(try await openedOnce(part, with: keys))
            let done = Set(part)
            rest.removeAll { done.contains($0) }
        }
        return opened
    }

    private func openedOnce(_ bodies: [SealedBody], with keys: KeySet) async throws -> Set<SealedBody> {
        try? FileManager.default.removeItem(at: folder)
        let messages = folder.appendingPathComponent("messages", isDirectory: true)
        let file = messages.appendingPathComponent(BenchDevice.keys, isDirectory: false)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        guard
            FileManager.default.createFile(
                atPath: file.path, contents: keys.file, attributes: [.posixPermissions: 0o600])
        else { throw BenchError("the keys cannot be written") }
        let vault = MemoryVault(keys.master)
        let empty = try await BenchDevice(folder, vault: vault)
        await empty.storage.close()
        try insert(bodies, into: SQLiteDatabase(at: empty.database.path))
        let device = try await BenchDevice(folder, vault: vault)
        var opened: Set<SealedBody> = []
        for conversation in Set(bodies.map(\.conversation)) {
            guard let name = ConversationID(rawValue: "\(conversation)") else { throw BenchError("no conversation") }
            let found = Set(
                try await device.retention.messages(in: name, limit: bodies.count).map(\.id.rawValue))
            opened.formUnion(bodies.filter { $0.conversation == conversation && found.contains("\($0.sequence)") })
        }
        await device.storage.close()
        return opened
    }

    private func insert(_ bodies: [SealedBody], into database: SQLiteDatabase) throws {
        try database.transaction { () throws(SQLiteError) in
            for conversation in Set(bodies.map(\.conversation)) {
                try database.run(
                    "INSERT INTO conversation (id, name) VALUES (?, ?)",
                    [.integer(conversation), .text("\(conversation)")])
            }
            for body in bodies {
                try database.run(
                    """
                    INSERT INTO message (seq, name, conversation, author, clock, base, wall_lead, slot, body)
                    VALUES (?, ?, ?, 'peer', 0, ?, 0, ?, ?)
                    """,
                    [
                        .integer(body.sequence), .text("\(body.sequence)"), .integer(body.conversation),
                        .integer(BenchDevice.begin), .integer(body.slot), .blob(body.bytes),
                    ])
            }
        }
    }
}

/// A body as a database has it, for finding it again where it should not be.
struct SealedBody: Sendable, Hashable {
    let name: String
    let sequence: Int64
    let conversation: Int64
    let slot: Int64
    let bytes: [UInt8]

    static func all(in database: URL) throws -> [SealedBody] {
        try SQLiteDatabase(at: database.path).rows("SELECT name, seq, conversation, slot, body FROM message") { row in
            SealedBody(
                name: row.text(0), sequence: row.integer(1), conversation: row.integer(2), slot: row.integer(3),
                bytes: row.blob(4))
        }
    }

    /// Those that lie whole in some file of a folder.
    static func found(_ bodies: [SealedBody], in folder: URL) throws -> Set<SealedBody> {
        // Their first bytes are random.
        var places: [UInt64: [SealedBody]] = [:]
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
        return found
    }
}

/// A vault whose value can be looked at.
final class MemoryVault: KeyVault {
    private let content: Mutex<Data?>

    init(_ content: Data? = nil) { self.content = Mutex(content) }

    var value: Data? { content.withLock { $0 } }

    func load() async throws -> Data? { value }
    func store(_ value: Data) async throws { content.withLock { $0 = value } }
    func erase() async throws { content.withLock { $0 = nil } }
}

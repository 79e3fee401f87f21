import Foundation
import Testing

@testable import CloakroomKit

@Suite struct OutboxFolderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func outbox(_ protect: @escaping @Sendable (URL) throws -> Void) throws -> OutboxFolder {
        try OutboxFolder(in: folder.url.appendingPathComponent("outbox"), owner: .test, protect: protect)
    }

    @Test func `a copy gets the outbox's own protection, whatever the original has`() async throws {
        let protected = Log<String>()
        let outbox = try outbox { url in
            // Its bytes are there: protection that a copy brings with it would come after an earlier call.
            let text = try String(contentsOf: url, encoding: .utf8)
            protected.append("\(url.lastPathComponent) \(text)")
        }
        _ = try await outbox.copy(try folder.write("photo.jpg", "one"), as: "1", of: .photo)
        _ = try await outbox.write(Data("two".utf8), as: "2", of: .asset)
        #expect(protected.all == ["1 one", "2 two"])
    }

    @Test func `a copy that cannot be protected is not added, and nothing is left of it`() async throws {
        let outbox = try outbox { _ in throw CocoaError(.fileWriteNoPermission) }
        let photo = try folder.write("photo.jpg", "one")
        let errors = await [
            #expect(throws: CloakroomError.self) { try await outbox.copy(photo, as: "1", of: .photo) },
            #expect(throws: CloakroomError.self) { try await outbox.write(Data("two".utf8), as: "2", of: .asset) },
        ]
        #expect(errors.map { $0?.code } == [.unwritableFile, .unwritableFile])
        #expect(try FileManager.default.contentsOfDirectory(atPath: outbox.files.path) == [])
    }

    // MARK: Backups of the device

    private func row(_ id: String, _ kind: OutboxRow.Kind, _ file: OutboxFile) -> OutboxRow {
        OutboxRow(id: id, kind: kind, identity: id, priority: 1, added: 0, file: file, contentType: "image/jpeg")
    }

    @Test func `backups of the device have photos with their records, and nothing else of an outbox`() async throws {
        let seen = Locked<[String: Bool]>([:])
        let outbox = try OutboxFolder(
            in: folder.url.appendingPathComponent("outbox"), owner: .test,
            setIsInBackups: { url, isInBackups in seen.withLock { $0[url.lastPathComponent] = isInBackups } })
        let photo = try await outbox.copy(try folder.write("photo.jpg", "one"), as: "1", of: .photo)
        let asset = try await outbox.write(Data("two".utf8), as: "2", of: .asset)
        let rows = [row("1", .photo, photo), row("2", .asset, asset)]
        for row in rows { try outbox.writeRecord(row) }
        #expect(seen.withLock { $0 } == ["1": true, "1.json": true, "2": false, "2.json": false])
        // Those of an earlier version, when it is opened.
        seen.withLock { $0 = [:] }
        let databases = ["outbox.sqlite", "outbox.sqlite-wal", "outbox.sqlite.corrupt-1"]
        for name in databases { try Data().write(to: outbox.url.appendingPathComponent(name)) }
        outbox.leaveOutOfBackups(allButPhotosOf: rows)
        #expect(Set(seen.withLock { $0 }.keys) == Set(databases + ["reserve", "2", "2.json"]))
        #expect(seen.withLock { $0 }.values.allSatisfy { !$0 })
    }
}

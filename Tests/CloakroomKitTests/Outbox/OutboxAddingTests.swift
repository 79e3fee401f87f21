import CloakroomSQLite
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct OutboxAddingTests {
    private let bench: OutboxFixture

    init() throws { bench = try OutboxFixture() }

    @Test func `what was added is sent although the app has deleted its file and the process has ended`() async throws {
        let file = try bench.photo("one")
        do {
            let outbox = try bench.outbox()
            try await outbox.add(photo: file)
            try await outbox.add(asset: UploadContent("two"), reference: "message 1")
        }
        try FileManager.default.removeItem(at: file)
        let outbox = try bench.outbox()
        let report = await outbox.run()
        #expect(report.isComplete && report.sent == 2 && report.bytesSent == 6)
        let objects = await bench.s3.objects
        #expect(objects[OutboxFixture.key("one")]?.bytes == Data("one".utf8))
        #expect(objects[OutboxFixture.key("one")]?.fields["x-amz-meta-original-format"] == "jpg")
        #expect(objects["assets/asset-1"]?.bytes == Data("two".utf8))
        // The asset's: the app has not taken its URL.
        #expect(try bench.files().count == 2)
    }

    @Test func `the same photo, or the same asset under its reference, is one item`() async throws {
        let outbox = try bench.outbox()
        let first = try await outbox.add(photo: try bench.photo("one"))
        #expect(try await outbox.add(photo: try bench.photo("one")) == first)
        let asset = try await outbox.add(asset: UploadContent("two"), reference: "a")
        #expect(try await outbox.add(asset: UploadContent("two"), reference: "a") == asset)
        await #expect(throws: CloakroomError.self) {
            try await outbox.add(asset: UploadContent("three"), reference: "a")
        }
        #expect(try await outbox.items().map(\.id) == [first, asset])
        #expect(try bench.files().count == 4)
    }

    @Test func `a file that is none is refused, and nothing is left of it`() async throws {
        let outbox = try bench.outbox()
        await #expect(throws: CloakroomError.self) { try await outbox.add(photo: bench.folder.url) }
        await #expect(throws: CloakroomError.self) {
            try await outbox.add(photo: bench.folder.url.appendingPathComponent("none"))
        }
        #expect(try await outbox.unsent().isEmpty)
        #expect(try bench.files() == [])
    }

    @Test func `the bytes are those that a symbolic link leads to`() async throws {
        let link = bench.folder.url.appendingPathComponent("link.jpg")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: try bench.photo("one"))
        let outbox = try bench.outbox()
        try await outbox.add(photo: link)
        await outbox.run()
        #expect(await bench.s3.objects[OutboxFixture.key("one")]?.bytes == Data("one".utf8))
    }

    @Test func `one outbox at a time has a user's folder, and each user has their own`() async throws {
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        #expect(throws: CloakroomError.self) { try bench.outbox() }
        let next = try bench.outbox(owner: .next)
        #expect(try await next.items() == [])
        #expect(await next.run().sent == 0)
        #expect(await bench.s3.objects.isEmpty)
    }

    @Test func `a damaged database costs no item`() async throws {
        let url = bench.root.appendingPathComponent("\(StoreOwner.test.folderName)/outbox.sqlite")
        do {
            let outbox = try bench.outbox()
            try await outbox.add(photo: try bench.photo("one"), priority: .high)
            try await outbox.add(asset: UploadContent("two"), reference: "a")
        }
        for name in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: url.path + name) }
        try Data(repeating: 7, count: 8192).write(to: url)
        let outbox = try bench.outbox()
        let items = try await outbox.items()
        #expect(items.map(\.kind).last == .asset(reference: "a"))
        #expect(items.map(\.priority) == [.high, .normal])
        #expect(await outbox.run().sent == 2)
    }

    @Test func `copies that were never recorded are removed by the next process`() async throws {
        _ = try bench.outbox()
        let files = bench.root.appendingPathComponent("\(StoreOwner.test.folderName)/files")
        try Data("half".utf8).write(to: files.appendingPathComponent("a"))
        _ = try bench.outbox()
        #expect(try bench.files() == [])
    }

    @Test func `a copy whose record is damaged stays when the database is gone, too`() async throws {
        let id: OutboxItem.ID
        do { id = try await bench.outbox().add(photo: try bench.photo("one")) }
        let folder = bench.root.appendingPathComponent(StoreOwner.test.folderName)
        try FileManager.default.removeItem(at: folder.appendingPathComponent("outbox.sqlite"))
        try Data("{".utf8).write(to: folder.appendingPathComponent("files/\(id.rawValue).json"))
        for _ in 0..<2 {
            let outbox = try bench.outbox()
            #expect(try await outbox.items() == [])
            #expect(try Data(contentsOf: bench.copy(of: id)) == Data("one".utf8))
        }
    }

    @Test func `a database of a later version is left as it is, and the copies beside it`() async throws {
        let id: OutboxItem.ID
        do { id = try await bench.outbox().add(photo: try bench.photo("one")) }
        let url = bench.root.appendingPathComponent("\(StoreOwner.test.folderName)/outbox.sqlite")
        let later = try SQLiteDatabase(at: url.path)
        try later.run(script: "DELETE FROM items; PRAGMA user_version = 99")
        later.close()
        let (bytes, files) = (try Data(contentsOf: url), try bench.files())
        #expect { try bench.outbox() } throws: { ($0 as? CloakroomError)?.code == .laterVersion }
        #expect(try Data(contentsOf: url) == bytes)
        #expect(try bench.files() == files && files.contains(id.rawValue))
    }

    /// As the first release wrote it: it had no place of an asset that was uploaded.
    @Test func `a record of the first release beside its bytes is an item when the database is gone`() async throws {
        _ = try bench.outbox()
        let folder = bench.root.appendingPathComponent(StoreOwner.test.folderName)
        let id = OutboxItem.ID(rawValue: "5f0c7d52-64a8-4d0c-9a55-000000000001")
        try Data("one".utf8).write(to: bench.copy(of: id))
        try Data(
            #"""
            {"id":"5f0c7d52-64a8-4d0c-9a55-000000000001","kind":"photo","identity":"f97c5d29941bfb1b2fdab0874906ab82",\#
            "priority":1,"added":1795183200,"file":{"byteCount":3,"modified":1,\#
            "md5":"f97c5d29941bfb1b2fdab0874906ab82"},"contentType":"image/jpeg","format":"jpg","isChatImage":false}
            """#.utf8
        ).write(to: bench.copy(of: id).appendingPathExtension("json"))
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(at: folder.appendingPathComponent("outbox.sqlite\(suffix)"))
        }
        let outbox = try bench.outbox()
        #expect(try await outbox.items().map(\.id) == [id])
        #expect(await outbox.run().sent == 1)
        #expect(await bench.s3.objects[OutboxFixture.key("one")]?.bytes == Data("one".utf8))
    }
}

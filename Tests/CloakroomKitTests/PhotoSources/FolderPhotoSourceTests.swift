import CloakroomCrypto
import CloakroomKitTesting
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct FolderPhotoSourceTests {
    private let folder: TemporaryFolder
    private let server = TestServer()

    init() throws { folder = try TemporaryFolder() }

    private var pictures: URL { folder.url.appendingPathComponent("pictures") }
    private var scratch: URL { folder.url.appendingPathComponent("scratch") }

    /// By the server's clock all files are old enough: it is ahead.
    private var source: FolderPhotoSource {
        let server = server
        return FolderPhotoSource(pictures, wallClock: { server.date })
    }

    private func journal() throws -> SourceJournal {
        try SourceJournal(
            at: folder.url.appendingPathComponent("source.sqlite"), owner: .test, runtime: server.runtime)
    }

    private func run(_ source: (any PhotoSource)? = nil) async throws -> SourceBackupReport {
        let backup = SourceBackup(
            source: source ?? self.source, client: .of(server), layout: try PhotoLayout(userID: "u_1"),
            journal: try journal(), folder: scratch)
        return await backup.run()
    }

    private func isStored(_ content: String) -> Bool {
        server.objects()["photos/u_1/\(MD5.hash(Array(content.utf8)).hexadecimal).dat"] != nil
    }

    private func photos(of source: FolderPhotoSource) async throws -> [SourcePhoto] {
        try await source.changes(since: nil).photos.reduce(into: []) { $0.append($1) }
    }

    @Test func `a file that was stored is so by the journal, and not read again`() async throws {
        try folder.write("pictures/a.jpg", "one")
        #expect(try await run().backedUp == 1)
        #expect(try await journal().isStored(photos(of: source)[0]))
        #expect(try await run().alreadyThere == 1)
    }

    @Test func `a file that is written over in its place with its size and its date is stored`() async throws {
        let file = try folder.write("pictures/a.jpg", "one")
        #expect(try await run().backedUp == 1)
        let before = try FileStamp(path: file.path)
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: Data("two".utf8))
        try handle.close()
        // As programs do that keep the date of a picture they edit.
        var times = [timespec(), timespec()]
        for index in times.indices {
            times[index].tv_sec = Int(before.modified / 1_000_000_000)
            times[index].tv_nsec = Int(before.modified % 1_000_000_000)
        }
        #expect(utimensat(AT_FDCWD, file.path, times, 0) == 0)
        #expect(try FileStamp(path: file.path).isOfSameBytes(as: before))
        #expect(try await run().backedUp == 1)
        #expect(isStored("one") && isStored("two"))
    }

    @Test func `a file that was written just now is read again by the next run`() async throws {
        let file = try folder.write("pictures/a.jpg", "one")
        let changed = Date(timeIntervalSince1970: Double(try FileStamp(path: file.path).changed) / 1_000_000_000)
        let young = FolderPhotoSource(pictures, wallClock: { changed.addingTimeInterval(1) })
        let settled = FolderPhotoSource(pictures, wallClock: { changed.addingTimeInterval(3) })
        #expect(try await photos(of: young) != photos(of: young))
        #expect(try await photos(of: settled) == photos(of: settled))
        #expect(try await run(young).backedUp == 1)
        // Another write in the same tick of the file system's clock would not show.
        #expect(try await !journal().isStored(photos(of: settled)[0]))
        let second = try await run(settled)
        #expect(second.alreadyThere == 1 && second.isComplete)
        #expect(try await journal().isStored(photos(of: settled)[0]))
    }

    @Test func `a file that is gone is no photo any more`() async throws {
        try folder.write("pictures/a.jpg", "one")
        #expect(try await photos(of: source).map(\.id) == ["a.jpg"])
        for id in ["b.jpg", "a.jpg/b.jpg"] {
            let gone = SourcePhoto(id: id, version: "", fileName: "b.jpg")
            let error = await #expect(throws: CloakroomError.self) { try await source.file(of: gone, in: scratch) }
            #expect(error?.code == .noSuchObject)
        }
    }

    @Test func `a file whose name is not UTF-8 is a failure`() async throws {
        try folder.write("pictures/a.jpg", "one")
        try writeUnreadable("b")
        let report = try await run()
        #expect(report.backedUp == 1 && report.failures.map(\.error.code) == [.unreadableFile])
    }

    @Test func `files are stored however many others there are whose names are not UTF-8`() async throws {
        try folder.write("pictures/z.jpg", "one")
        for number in 10..<80 { try writeUnreadable("\(number)") }
        #expect(try await run().backedUp == 1)
        #expect(isStored("one"))
    }

    /// Under a name that begins so and is not UTF-8.
    private func writeUnreadable(_ name: String) throws {
        let path = Array("\(pictures.path)/\(name)".utf8) + [0xFF] + Array(".jpg".utf8) + [0]
        let descriptor = path.map { CChar(bitPattern: $0) }.withUnsafeBufferPointer { path in
            path.baseAddress.map { open($0, O_WRONLY | O_CREAT, 0o600) } ?? -1
        }
        try #require(descriptor >= 0)
        close(descriptor)
    }

    @Test func `files of a folder that is unplugged meanwhile are failures, and stored when it is there again`()
        async throws
    {
        for name in ["a", "b", "c"] { try folder.write("pictures/\(name).jpg", name) }
        let elsewhere = folder.url.appendingPathComponent("elsewhere")
        let report = try await run(UnpluggedSource(source: source, folder: pictures, elsewhere: elsewhere))
        #expect(report.failures.map(\.error.code) == [.unreadableFile, .unreadableFile, .unreadableFile])
        try FileManager.default.moveItem(at: elsewhere, to: pictures)
        let next = try await run()
        #expect(next.backedUp == 3 && next.isComplete)
    }

    /// As a run leaves it that could not read the folder.
    @Test func `a folder that could not be read is no failure once it can`() async throws {
        try folder.write("pictures/trip/a.jpg", "one")
        let trip = SourcePhoto(id: "trip", version: "", fileName: "trip")
        try await journal().save(stored: [], gone: [], failed: [trip])
        let report = try await run()
        #expect(report.isComplete && report.backedUp == 1, "\(report)")
        #expect(try await journal().failures() == [])
    }

    @Test(.enabled(if: geteuid() != 0, "root reads every folder"))
    func `a folder that cannot be read is a failure until it can`() async throws {
        try folder.write("pictures/trip/a.jpg", "one")
        let trip = pictures.appendingPathComponent("trip").path
        #expect(chmod(trip, 0) == 0)
        defer { chmod(trip, 0o700) }
        for _ in 0..<2 {
            let report = try await run()
            #expect(report.failures.map(\.photo.id) == ["trip"])
            #expect(report.failures.map(\.error.code) == [.unreadableFile])
        }
        #expect(chmod(trip, 0o700) == 0)
        #expect(try await run().isComplete)
        #expect(try await journal().failures() == [] && isStored("one"))
    }
}

/// A folder that is moved when the first photo of it is exported.
private struct UnpluggedSource: PhotoSource {
    let source: FolderPhotoSource
    let folder: URL
    let elsewhere: URL

    func changes(since token: Data?) async throws -> PhotoChanges { try await source.changes(since: token) }

    func file(of photo: SourcePhoto, in scratch: URL) async throws -> URL {
        if FileManager.default.fileExists(atPath: folder.path) {
            try FileManager.default.moveItem(at: folder, to: elsewhere)
        }
        return try await source.file(of: photo, in: scratch)
    }
}

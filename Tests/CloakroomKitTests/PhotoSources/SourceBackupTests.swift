import CloakroomCrypto
import CloakroomKitTesting
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct SourceBackupTests {
    private let folder: TemporaryFolder
    private let server = TestServer()
    private let layout: PhotoLayout

    init() throws {
        folder = try TemporaryFolder()
        layout = try PhotoLayout(userID: "u_1")
    }

    private var scratch: URL { folder.url.appendingPathComponent("scratch") }

    private func journal() throws -> SourceJournal {
        try SourceJournal(
            at: folder.url.appendingPathComponent("source.sqlite"), owner: .test, runtime: server.runtime)
    }

    private func backup(of source: any PhotoSource) throws -> SourceBackup {
        SourceBackup(source: source, client: .of(server), layout: layout, journal: try journal(), folder: scratch)
    }

    private func key(_ content: String) -> String { "photos/u_1/\(MD5.hash(Array(content.utf8)).hexadecimal).dat" }

    @Test func `a source is stored whole, and then what is new in it`() async throws {
        let source = ListedSource(["a": "one", "b": "two"])
        let first = try await backup(of: source).run()
        #expect(first.backedUp == 2 && first.isComplete)
        #expect(Set(server.objects().keys) == [key("one"), key("two")])
        await source.add("c", "three")
        let second = try await backup(of: source).run()
        #expect(second.backedUp == 1 && second.isComplete)
        #expect(await source.tokens == [nil, 2])
        #expect(await source.exported == ["a", "b", "c"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
    }

    @Test func `a photo that S3 has from an earlier installation is not sent again`() async throws {
        server.store(Data("one".utf8), at: key("one"))
        let report = try await backup(of: ListedSource(["a": "one", "b": "two"])).run()
        #expect(report.backedUp == 1 && report.alreadyThere == 1)
        #expect(server.count(.putObject) == 1)
    }

    @Test func `a photo that cannot be exported is attempted again, and does not keep the others`() async throws {
        let source = ListedSource(["a": "one", "b": "two"])
        await source.fail("a", with: .unreadableFile)
        let first = try await backup(of: source).run()
        #expect(first.failures.map(\.photo.id) == ["a"] && first.backedUp == 1 && first.stoppedBy == nil)
        await source.fail("a", with: nil)
        // Asked for what came later alone: the source does not name the photo again.
        let second = try await backup(of: source).run()
        #expect(second.backedUp == 1 && second.isComplete)
        #expect(await source.tokens == [nil, 2])
        #expect(try await journal().failures() == [])
    }

    @Test func `a photo that was deleted meanwhile is no failure`() async throws {
        let source = ListedSource(["a": "one", "b": "two"])
        await source.fail("a", with: .noSuchObject)
        let report = try await backup(of: source).run()
        #expect(report.backedUp == 1 && report.isComplete)
    }

    @Test func `a run that ends early asks for the same changes again, and stores nothing twice`() async throws {
        let content = Dictionary(uniqueKeysWithValues: (0..<100).map { ("\($0)", "photo \($0)") })
        let source = ListedSource(content)
        // After the first page of photos.
        await source.end(after: 50)
        let first = try await backup(of: source).run()
        #expect(first.stoppedBy?.code == .unreachable)
        #expect(first.backedUp == 32)
        await source.end(after: nil)
        let second = try await backup(of: source).run()
        #expect(second.isComplete)
        #expect(await source.tokens == [nil, nil])
        #expect(server.objects().count == 100)
        let puts = server.requests(.putObject).map(\.key)
        #expect(puts.count == 100 && Set(puts).count == 100)
    }

    @Test func `files of a run that was killed are removed`() async throws {
        try folder.write("scratch/left.heic", Data("half a photo".utf8))
        _ = try await backup(of: ListedSource([:])).run()
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
    }

    @Test func `a folder's files are stored, and stay`() async throws {
        try folder.write("pictures/a.jpg", Data("one".utf8))
        try folder.write("pictures/trip/b.heic", Data("two".utf8))
        let pictures = folder.url.appendingPathComponent("pictures")
        let source = FolderPhotoSource(pictures)
        #expect(try await backup(of: source).run().backedUp == 2)
        #expect(try await backup(of: source).run().alreadyThere == 2)
        try folder.write("pictures/a.jpg", Data("another".utf8), age: 10)
        #expect(try await backup(of: source).run().backedUp == 1)
        #expect(Set(server.objects().keys) == [key("one"), key("two"), key("another")])
        #expect(try String(contentsOf: pictures.appendingPathComponent("trip/b.heic"), encoding: .utf8) == "two")
    }

}

/// Photos by their names, in that order; its token is how many it has named.
private actor ListedSource: PhotoSource {
    private var photos: [(id: String, content: String)]
    private var failures: [String: CloakroomError.Code] = [:]
    private var end: Int?
    private(set) var tokens: [Int?] = []
    private(set) var exported: [String] = []

    init(_ photos: [String: String]) {
        self.photos = photos.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    func add(_ id: String, _ content: String) { photos.append((id, content)) }
    func fail(_ id: String, with code: CloakroomError.Code?) { failures[id] = code }
    func end(after count: Int?) { end = count }

    func changes(since token: Data?) throws -> PhotoChanges {
        let begin = token.flatMap { Int(String(decoding: $0, as: UTF8.self)) }
        tokens.append(begin)
        let end = end
        return PhotoChanges(
            Array(photos.dropFirst(begin ?? 0).enumerated()), token: Data("\(photos.count)".utf8)
        ) { number, photo in
            if number == end { throw CloakroomError(.unreachable, "no network") }
            return SourcePhoto(id: photo.id, version: "1", fileName: "\(photo.id).heic")
        }
    }

    func file(of photo: SourcePhoto, in folder: URL) throws -> URL {
        if let code = failures[photo.id] { throw CloakroomError(code, "as told") }
        exported.append(photo.id)
        let file = folder.appendingPathComponent("\(exported.count).heic")
        try Data((photos.first { $0.id == photo.id }?.content ?? "").utf8).write(to: file)
        return file
    }
}

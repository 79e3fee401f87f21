import CloakroomCrypto
import CloakroomKitTestSupport
import CloakroomKitTesting
import Foundation

@testable import CloakroomKit

/// What a backup of a source needs: a folder, an S3, and a journal.
struct SourceBackupBench {
    let folder: TemporaryFolder
    let server = TestServer()
    let layout: PhotoLayout
    /// For exports.
    var scratch: URL { folder.url.appendingPathComponent("scratch") }

    init() throws {
        folder = try TemporaryFolder()
        layout = try PhotoLayout(userID: "u_1")
    }

    func journal() throws -> SourceJournal {
        try SourceJournal(
            at: folder.url.appendingPathComponent("source.sqlite"), owner: .test, runtime: server.runtime)
    }

    func backup(of source: any PhotoSource) throws -> SourceBackup {
        SourceBackup(source: source, client: .of(server), layout: layout, journal: try journal(), folder: scratch)
    }

    func key(_ content: String) -> String { "photos/u_1/\(MD5.hash(Array(content.utf8)).hexadecimal).dat" }
    func isStored(_ content: String) -> Bool { server.objects()[key(content)] != nil }
}

/// Photos by their names, in that order; its token is how many it has named.
actor ListedSource: PhotoSource {
    private var photos: [(id: String, version: String, content: String)]
    private var failures: [String: CloakroomError.Code] = [:]
    private var end: Int?
    private(set) var tokens: [Int?] = []
    private var gates: [String: Gate] = [:]
    private(set) var attempted: [String] = []
    private var room = Int.max
    private(set) var exported: [String] = []
    /// How many files lay in the folder when each was exported.
    private(set) var filesBefore: [Int] = []

    init(_ photos: [String: String]) {
        self.photos = photos.sorted { $0.key < $1.key }.map { ($0.key, "1", $0.value) }
    }

    func add(_ id: String, _ content: String, version: String = "1") { photos.append((id, version, content)) }
    func fail(_ id: String, with code: CloakroomError.Code?) { failures[id] = code }
    func hold(_ id: String, at gate: Gate) { gates[id] = gate }
    func end(after count: Int?) { end = count }
    /// - Parameter room: the most files that the folder has room for.
    func fillDisk(with room: Int) { self.room = room }

    func changes(since token: Data?) throws -> PhotoChanges {
        let begin = token.flatMap { Int(String(decoding: $0, as: UTF8.self)) }
        tokens.append(begin)
        let end = end
        return PhotoChanges(
            Array(photos.dropFirst(begin ?? 0).enumerated()), token: Data("\(photos.count)".utf8)
        ) { number, photo in
            if number == end { throw CloakroomError(.unreachable, "no network") }
            return SourcePhoto(id: photo.id, version: photo.version, fileName: "\(photo.id).heic")
        }
    }

    func file(of photo: SourcePhoto, in folder: URL) async throws -> URL {
        attempted.append(photo.id)
        if await gates[photo.id]?.pass() == false { throw CloakroomError.cancelled }
        if let code = failures[photo.id] { throw CloakroomError(code, "as told") }
        filesBefore.append(try FileManager.default.contentsOfDirectory(atPath: folder.path).count)
        if filesBefore.last == room { throw CloakroomError(.diskFull, "as told") }
        exported.append(photo.id)
        let file = folder.appendingPathComponent("\(exported.count).heic")
        try Data((photos.first { $0.id == photo.id }?.content ?? "").utf8).write(to: file)
        return file
    }
}

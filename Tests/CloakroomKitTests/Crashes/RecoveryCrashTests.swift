import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// Recoveries that are killed at every point, and gone on with.
// One program at a time: hundreds at once take the descriptors of the process that starts them.
@Suite(.serialized) struct RecoveryCrashTests {
    private static let date = Date(timeIntervalSince1970: 1_795_183_200)

    /// Three uploads of fourteen points each, and a mark.
    private static let points = 3 * 14 + 2

    /// - Parameters:
    ///   - pause: until the next launch: a place of the killed one is still open, or has ended.
    ///   - point: one more than there are lets the first launch end by itself.
    @Test(arguments: [60.0, 1200], 1...points + 1)
    func `killed at any point, twice and on the second day, nothing is lost and each URL is handed out once`(
        pause: Double, point: Int
    ) async throws {
        try await KilledRecovery.with { recovery in
            let end = try await recovery.launch(killedAt: point, Self.date)
            #expect(end == (point <= Self.points ? .killed : .finished))
            _ = try await recovery.launch(killedAt: point * 7 % 19 + 1, Self.date + pause)
            #expect(try await recovery.launch(killedAt: 0, Self.date + 2 * pause) == .finished)
            try await recovery.expectFirstDayDone()
            let nextDay = Self.date + 86_400
            _ = try await recovery.launch(killedAt: point % 9 + 1, nextDay)
            #expect(try await recovery.launch(killedAt: 0, nextDay + pause) == .finished)
            try await recovery.expectAllDone()
        }
    }
}

/// A folder with five images: `avatar` and `group` are gone from S3 and cached, `lost` is gone and not cached, `changed` is
/// cached and gets another image while it is uploaded, `alive` is there.
private struct KilledRecovery {
    struct Database: Codable, Equatable {
        var urls: [String: URL]
        var writes: [String: [String]]
    }

    private static let program = MortalProgram("kit-crash", variable: "CLOAKROOM_KIT_CRASH")

    let folder: URL
    private static let names = ["avatar", "group", "lost", "changed", "alive"]

    static func with<Result>(_ body: (KilledRecovery) async throws -> Result) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("kit-crash-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let recovery = KilledRecovery(folder: folder)
        try recovery.begin()
        return try await body(recovery)
    }

    private func begin() throws {
        for name in ["s3", "cache"] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
        }
        for name in ["avatar", "group", "changed"] {
            try Data("bytes of \(name)".utf8).write(to: folder.appendingPathComponent("cache/\(name)"))
        }
        try Data("alive".utf8).write(to: folder.appendingPathComponent("s3/alive.bin"))
        try Data().write(to: folder.appendingPathComponent("renewed.txt"))
        let urls = Dictionary(uniqueKeysWithValues: Self.names.map { ($0, Self.oldURL($0)) })
        try JSONEncoder().encode(Database(urls: urls, writes: [:])).write(to: file("database.json"))
    }

    /// One launch of the app; whatever it came to, nothing may be wrong then.
    func launch(killedAt point: Int, _ date: Date) async throws -> MortalProgram.End {
        let end = try await Self.program.run(
            ["recovery", folder.path, String(point), String(date.timeIntervalSince1970)])
        let database = try database()
        for name in ["avatar", "group"] {
            let url = try #require(database.urls[name])
            if url != Self.oldURL(name) { #expect(try content(at: url) == "bytes of \(name)") }
            #expect(database.writes[name, default: []].count <= 1)
        }
        #expect(database.urls["lost"] == Self.oldURL("lost") || database.writes["lost"] == ["cleared"])
        #expect(database.writes["changed"] == nil)
        #expect(database.urls["alive"] == Self.oldURL("alive"))
        return end
    }

    func expectFirstDayDone() async throws {
        let database = try database()
        for name in ["avatar", "group"] {
            #expect(database.writes[name] == [try #require(database.urls[name]).absoluteString])
        }
        #expect(database.urls["lost"] == Self.oldURL("lost"))
        #expect(database.urls["changed"] == URL(string: "https://cdn.example/chosen.bin"))
        let records = try await SQLiteRecoveryJournal(at: file("recoveries.sqlite"), owner: .test).records()
        #expect(records.map(\.key) == ["lost.bin"])
    }

    func expectAllDone() async throws {
        let database = try database()
        #expect(database.urls["lost"] == nil)
        #expect(Set(database.writes.keys) == ["avatar", "group", "lost"])
        #expect(database.writes["lost"] == ["cleared"])
        #expect(try await SQLiteRecoveryJournal(at: file("recoveries.sqlite"), owner: .test).records() == [])
        // What was uploaded and nobody has: the image that the user had changed by then.
        let uploads = try FileManager.default.contentsOfDirectory(atPath: file("s3").path)
            .filter { $0.hasPrefix("new-") }
        let known = database.urls.values.map(\.lastPathComponent)
        let orphans = uploads.filter { !known.contains($0) }
        #expect(try orphans.map { try content(at: Self.url($0)) } == ["bytes of changed"])
    }

    private func database() throws -> Database {
        try JSONDecoder().decode(Database.self, from: Data(contentsOf: file("database.json")))
    }

    private func content(at url: URL) throws -> String {
        String(decoding: try Data(contentsOf: file("s3/\(url.lastPathComponent)")), as: UTF8.self)
    }

    private func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

    private static func url(_ key: String) -> URL { URL(string: "https://cdn.example/\(key)")! }
    private static func oldURL(_ name: String) -> URL { url("\(name).bin") }
}

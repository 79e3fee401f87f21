import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// Launches that are killed at every point of a renewal, and of the recoveries that it leads to.
// One program at a time: hundreds at once take the descriptors of the process that starts them.
@Suite(.serialized) struct RenewalCrashTests {
    private static let date = Date(timeIntervalSince1970: 1_795_183_200)
    /// Three batches of five points each, and a recovery of sixteen.
    private static let points = 3 * 5 + 16

    /// - Parameter point: one more than there are lets the first launch end by itself.
    @Test(arguments: 1...points + 1)
    func `killed at any point, only what S3 renewed is recorded, and a batch at most is sent again`(
        point: Int
    ) async throws {
        try await KilledRenewal.with { renewal in
            let end = try await renewal.launch(killedAt: point, Self.date)
            #expect(end == (point <= Self.points ? .killed : .finished))
            _ = try await renewal.launch(killedAt: point * 5 % 13 + 1, Self.date + 60)
            #expect(try await renewal.launch(killedAt: 0, Self.date + 7200) == .finished)
            try await renewal.expectAllDone(kills: 2)
            // Nothing is due now, nor is what was uploaded anew.
            let renewed = try renewal.renewedKeys()
            #expect(try await renewal.launch(killedAt: 0, Self.date + 10 * 86_400) == .finished)
            #expect(try renewal.renewedKeys() == renewed)
        }
    }
}

/// A folder with 25 images, of which `group12` is gone from S3, and cached.
private struct KilledRenewal {
    struct Database: Codable {
        var urls: [String: URL]
        var writes: [String: [String]]
    }

    private static let program = MortalProgram("kit-crash", variable: "CLOAKROOM_KIT_CRASH")

    let folder: URL
    private static let names = (0..<25).map { "group" + ($0 < 10 ? "0\($0)" : "\($0)") }
    private static let goneName = "group12"

    static func with<Result>(_ body: (KilledRenewal) async throws -> Result) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("kit-crash-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let renewal = KilledRenewal(folder: folder)
        try renewal.begin()
        return try await body(renewal)
    }

    private func begin() throws {
        for name in ["s3", "cache"] {
            try FileManager.default.createDirectory(at: file(name), withIntermediateDirectories: true)
        }
        for name in Self.names where name != Self.goneName {
            try Data(name.utf8).write(to: file("s3/\(name).bin"))
        }
        try Data("bytes of \(Self.goneName)".utf8).write(to: file("cache/\(Self.goneName)"))
        try Data().write(to: file("renewed.txt"))
        let urls = Self.names.map { ($0, URL(string: "https://cdn.example/\($0).bin")!) }
        let database = Database(urls: Dictionary(uniqueKeysWithValues: urls), writes: [:])
        try JSONEncoder().encode(database).write(to: file("database.json"))
    }

    /// One launch of the app; whatever it came to, nothing may be wrong then.
    func launch(killedAt point: Int, _ date: Date) async throws -> MortalProgram.End {
        let end = try await Self.program.run(
            ["renewal", folder.path, String(point), String(date.timeIntervalSince1970)])
        let renewed = Set(try renewedKeys())
        let uploaded = Set(
            try FileManager.default.contentsOfDirectory(atPath: file("s3").path).filter { $0.hasPrefix("new-") })
        for record in try await records() where record.lastRenewed != nil {
            #expect(renewed.contains(record.key) || uploaded.contains(record.key), "\(record.key)")
        }
        return end
    }

    func expectAllDone(kills: Int) async throws {
        let database = try JSONDecoder().decode(Database.self, from: Data(contentsOf: file("database.json")))
        let newURL = try #require(database.urls[Self.goneName])
        #expect(database.writes == [Self.goneName: [newURL.absoluteString]])
        let stamped = try await records().filter { $0.lastRenewed != nil }.map(\.key)
        let expected = Self.names.filter { $0 != Self.goneName }.map { "\($0).bin" } + [newURL.lastPathComponent]
        #expect(stamped.sorted() == expected.sorted())
        #expect(try renewedKeys().count <= Self.names.count + kills * 10)
    }

    private func records() async throws -> [RenewalRecord] {
        try await SQLiteRenewalStore(at: file("renewals.sqlite"), owner: .test).records()
    }

    /// In order, each as often as S3 renewed it.
    func renewedKeys() throws -> [String] {
        String(decoding: try Data(contentsOf: file("renewed.txt")), as: UTF8.self).split(separator: "\n")
            .map(String.init)
    }

    private func file(_ name: String) -> URL { folder.appendingPathComponent(name) }
}

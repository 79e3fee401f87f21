import CloakroomCrypto
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// Outboxes that are killed at every point, twice, and gone on with.
// One program at a time: hundreds at once take the descriptors of the process that starts them.
@Suite(.serialized) struct OutboxCrashTests {
    private static let date = Date(timeIntervalSince1970: 1_795_183_200)
    /// Two photos and two assets: four points each to be added, eight and nine to be sent, two to be acknowledged.
    private static let points = 4 * 4 + 2 * 8 + 2 * 10 + 2 * 2

    /// - Parameters:
    ///   - pause: until the next launch: the place of an asset is still open, or has ended.
    ///   - point: one more than there are lets the first launch end by itself.
    @Test(arguments: [60.0, 1200], 1...points + 1)
    func `killed at any point, twice, nothing is lost and nothing is stored twice`(
        pause: Double, point: Int
    ) async throws {
        try await KilledOutbox.with { outbox in
            let end = try await outbox.launch(killedAt: point, Self.date)
            #expect(end == (point <= Self.points ? .killed : .finished))
            _ = try await outbox.launch(killedAt: point * 7 % 19 + 1, Self.date + pause)
            #expect(try await outbox.launch(killedAt: 0, Self.date + 2 * pause) == .finished)
            try outbox.expectAllDone()
        }
    }

    /// - Parameter point: one more than there are.
    @Test(arguments: [60.0, 1200], 1...17)
    func `killed at any point of an image of a chat, twice, one is left, and its token is known`(
        pause: Double, point: Int
    ) async throws {
        let image = Data("an image".utf8)
        try await KilledOutbox.with(["chat-a": image]) { outbox in
            #expect(try await outbox.launch(killedAt: point, Self.date) == (point < 17 ? .killed : .finished))
            _ = try await outbox.launch(killedAt: point * 7 % 19 + 1, Self.date + pause)
            #expect(try await outbox.launch(killedAt: 0, Self.date + 2 * pause) == .finished)
            let keys = try outbox.objects()
            #expect(keys.count == 1)
            for key in keys {
                #expect(try outbox.bytes(of: key) == image)
                #expect(try outbox.knownPlaces() == ["chat-a \(key) token-of-\(key)"])
            }
        }
    }

    /// - Parameter point: one more than there are. The two parts of the photo go at once.
    @Test(arguments: 1...24)
    func `killed at any point of a large photo, twice, it is stored once`(point: Int) async throws {
        let photo = (0..<9).reduce(Data()) { $0 + Data(repeating: $1, count: 1 << 20) }
        try await KilledOutbox.with(["photo-large.mov": photo]) { outbox in
            _ = try await outbox.launch(killedAt: point, Self.date)
            _ = try await outbox.launch(killedAt: point * 7 % 19 + 1, Self.date + 60)
            #expect(try await outbox.launch(killedAt: 0, Self.date + 120) == .finished)
            #expect(try outbox.objects().map { try outbox.bytes(of: $0) } == [photo])
        }
    }
}

/// A folder with two photos and two assets that an app is about to share.
private struct KilledOutbox {
    private static let program = MortalProgram("kit-crash", variable: "CLOAKROOM_KIT_CRASH")
    private static let names = ["asset-a", "asset-b", "photo-c.jpg", "photo-d.heic"]

    let folder: URL

    static func with<Result>(
        _ files: [String: Data] = Dictionary(uniqueKeysWithValues: names.map { ($0, Data("bytes of \($0)".utf8)) }),
        _ body: (KilledOutbox) async throws -> Result
    ) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("kit-crash-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let outbox = KilledOutbox(folder: folder)
        for name in ["s3", "in"] {
            try FileManager.default.createDirectory(at: outbox.file(name), withIntermediateDirectories: true)
        }
        for name in ["urls.txt", "renewed.txt"] { try Data().write(to: outbox.file(name)) }
        for (name, bytes) in files { try bytes.write(to: outbox.file("in/\(name)")) }
        return try await body(outbox)
    }

    func launch(killedAt point: Int, _ date: Date) async throws -> MortalProgram.End {
        try await Self.program.run(["outbox", folder.path, String(point), String(date.timeIntervalSince1970)])
    }

    func expectAllDone() throws {
        #expect(try FileManager.default.contentsOfDirectory(atPath: file("in").path) == [])
        let outbox = file("outbox/\(StoreOwner.test.folderName)/files")
        #expect(try FileManager.default.contentsOfDirectory(atPath: outbox.path) == [])
        // Each content once, wherever it is.
        let created = try objects()
        #expect(created.count == Self.names.count)
        let contents = try created.map { String(decoding: try Data(contentsOf: file("s3/\($0)")), as: UTF8.self) }
        #expect(contents.sorted() == Self.names.map { "bytes of \($0)" })
        for name in Self.names.suffix(2) {
            let md5 = MD5.hash(Data("bytes of \(name)".utf8)).hexadecimal
            #expect(created.contains("photos_u_1_\(md5).dat"))
        }
        // The app knows one place of each asset, and it has the right bytes.
        let known = Set(try lines("urls.txt")).sorted().map { $0.split(separator: " ").map(String.init) }
        #expect(known.map { $0[0] } == Array(Self.names.prefix(2)))
        for line in known {
            #expect(
                String(decoding: try Data(contentsOf: file("s3/\(line[1])")), as: UTF8.self) == "bytes of \(line[0])")
        }
    }

    /// The keys of what S3 has: all that was ever stored, since it takes no object twice and nothing deletes one.
    func objects() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: file("s3").path) }

    func bytes(of key: String) throws -> Data { try Data(contentsOf: file("s3/\(key)")) }

    /// What the app has written down, each once.
    func knownPlaces() throws -> Set<String> { Set(try lines("urls.txt")) }

    private func lines(_ name: String) throws -> [String] {
        String(decoding: try Data(contentsOf: file(name)), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func file(_ name: String) -> URL { folder.appendingPathComponent(name) }
}

import CloakroomCrypto
import CloakroomKitTestSupport
import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

/// Two devices and a cold tier as files, with the program `tier-crash` as the devices' app.
struct CrashFolder {
    private static let program = MortalProgram("tier-crash", variable: "CLOAKROOM_TIER_CRASH")

    let url: URL
    static let begin = Date(timeIntervalSince1970: 1_800_000_000)

    /// Removed afterwards.
    static func with<Result>(_ body: (CrashFolder) async throws -> Result) async throws -> Result {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "tier-crash-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: url) }
        let folder = CrashFolder(url: url)
        try folder.makeSources()
        return try await body(folder)
    }

    /// The same folder as it is now, removed afterwards.
    func withCopy<Result>(_ body: (CrashFolder) async throws -> Result) async throws -> Result {
        let copy = url.deletingLastPathComponent().appendingPathComponent(
            "tier-crash-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.copyItem(at: url, to: copy)
        defer { try? FileManager.default.removeItem(at: copy) }
        return try await body(CrashFolder(url: copy))
    }

    /// What each device adds: both have the first one.
    static let photos: [String: [String]] = ["a": ["1", "2", "3", "4"], "b": ["1", "5"]]

    static func bytes(_ photo: String) -> Data {
        // In the last one of the first device there is no picture.
        photo == "4" ? ScriptedThumbnailer.noPicture : .named(photo, count: 5000)
    }

    private func makeSources() throws {
        for (device, photos) in Self.photos {
            let folder = file("sources-\(device)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for photo in photos { try Self.bytes(photo).write(to: folder.appendingPathComponent(photo)) }
        }
    }

    /// Has a device's app its photos in an older store: the first two and the last one are old.
    func makeOlderStore(of device: String) throws {
        let table = try LegacyTable(in: file("older-\(device)"))
        let names = Self.photos[device] ?? []
        for name in names {
            try table.insert(name, Self.bytes(name), Self.begin - (name == "3" ? 1 : 60) * 86_400)
        }
        try Data(names.map { "added \($0)\n" }.joined().utf8).write(to: file("log-\(device).txt"))
    }

    func file(_ name: String) -> URL { url.appendingPathComponent(name) }

    /// One launch of a device's app; whatever it came to, no photo may be lost then.
    ///
    /// - Parameter point: counts from 1; 0 is never reached.
    @discardableResult
    func launch(
        _ scenario: String, device: String = "a", killedAt point: Int = 0, days: Double
    ) async throws -> MortalProgram.End {
        let date = Self.begin + days * 86_400
        let end = try await Self.program.run(
            [scenario, url.path, device, String(point), String(date.timeIntervalSince1970)])
        try expectNothingLost("\(scenario), killed at \(point)")
        return end
    }
}

/// What is there, by files alone: whatever catalogs say.
extension CrashFolder {
    /// What a device's app was told to be added, and has not begun to remove since.
    func owned(by device: String) -> Set<String> {
        var owned: Set<String> = []
        for line in lines("log-\(device).txt") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 2 else { continue }
            if words[0] == "added" { owned.insert(words[1]) } else { owned.remove(words[1]) }
        }
        return owned
    }

    func local(_ device: String) -> Set<Data> {
        Set(["photos", "inbox"].flatMap { contents("store-\(device)/\($0)") })
    }

    /// What a device's app has in its older store; nothing where there is none.
    func older(_ device: String) throws -> [String: Data] {
        let folder = file("older-\(device)")
        guard FileManager.default.fileExists(atPath: folder.path) else { return [:] }
        let table = try LegacyTable(in: folder)
        var photos: [String: Data] = [:]
        for name in try table.names { photos[name] = try table.bytes(name) }
        return photos
    }

    var remote: Set<Data> { Set(contents("tier/photos")) }

    func expectNothingLost(_ comment: Comment) throws {
        let remote = remote
        for device in Self.photos.keys.sorted() {
            let local = try local(device).union(older(device).values)
            for photo in owned(by: device) {
                let bytes = Self.bytes(photo)
                #expect(local.contains(bytes) || remote.contains(bytes), "device \(device), photo \(photo): \(comment)")
            }
        }
        // Nothing else is ever deleted than what no device has any more.
        let needed = Set(Self.photos.keys.flatMap { owned(by: $0) }.map { MD5.hash(Self.bytes($0)).hexadecimal })
        #expect(needed.isDisjoint(with: lines("tier/deletions.txt")), comment)
    }

    private func store(of device: String, days: Double) throws -> TieredPhotoStore {
        let date = Self.begin + days * 86_400
        return try TieredPhotoStore(
            folder: file("store-\(device)"), tier: try FolderTier(file("tier"), clock: { date }),
            thumbnailer: ScriptedThumbnailer(), policy: RetentionPolicy(), conditions: ScriptedConditions(),
            clock: { date })
    }

    /// Opens everything that a device has, in this process.
    func expectAllOpen(_ device: String, days: Double) async throws {
        let store = try store(of: device, days: days)
        for photo in owned(by: device).sorted() {
            let id = try #require(try await store.photo(named: photo), "photo \(photo)")
            let file = try await store.open(id)
            #expect(try Data(contentsOf: file.url) == Self.bytes(photo), "photo \(photo)")
        }
    }

    /// How many photos a device's store has.
    func photoCount(_ device: String, days: Double) async throws -> Int {
        try await store(of: device, days: days).usage().photoCount
    }

    private func contents(_ folder: String) -> [Data] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: file(folder).path)) ?? []
        return names.filter { !$0.hasSuffix(".part") }.compactMap {
            try? Data(contentsOf: file(folder).appendingPathComponent($0))
        }
    }

    private func lines(_ name: String) -> [String] {
        let text = (try? Data(contentsOf: file(name))).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return text.split(separator: "\n").map(String.init)
    }
}

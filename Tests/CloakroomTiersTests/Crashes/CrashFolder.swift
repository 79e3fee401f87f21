import CloakroomCrypto
import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

/// Two devices and a cold tier as files, with the program `tier-crash` as the devices' app.
struct CrashFolder {
    enum End: Equatable { case finished, killed }

    struct ProgramError: Error { var output: String }

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
        photo == "4" ? ScriptedThumbnailer.noPicture : Data("photo \(photo)".utf8) + Data(repeating: 7, count: 5000)
    }

    private func makeSources() throws {
        for (device, photos) in Self.photos {
            let folder = file("sources-\(device)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for photo in photos { try Self.bytes(photo).write(to: folder.appendingPathComponent(photo)) }
        }
    }

    func file(_ name: String) -> URL { url.appendingPathComponent(name) }

    /// One launch of a device's app; whatever it came to, no photo may be lost then.
    ///
    /// - Parameter point: counts from 1; 0 is never reached.
    @discardableResult
    func launch(
        _ scenario: String, device: String = "a", killedAt point: Int = 0, days: Double
    ) async throws -> End {
        let date = Self.begin + days * 86_400
        let process = Process()
        process.executableURL = Self.program
        process.arguments = [scenario, url.path, device, String(point), String(date.timeIntervalSince1970)]
        let output = Pipe()
        // Foundation keeps a process that has ended, and so its pipe.
        defer { for end in [output.fileHandleForReading, output.fileHandleForWriting] { try? end.close() } }
        process.standardOutput = output
        process.standardError = output
        let ended = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in ended.continuation.finish() }
        try process.run()
        // A few lines, which the pipe holds.
        for await _ in ended.stream {}
        try expectNothingLost("\(scenario), killed at \(point)")
        switch (process.terminationReason, process.terminationStatus) {
        case (.exit, 0): return .finished
        case (.uncaughtSignal, SIGKILL): return .killed
        default:
            throw ProgramError(output: String(decoding: output.fileHandleForReading.availableData, as: UTF8.self))
        }
    }

    /// Beside the tests, where the package manager puts both, unless the environment says otherwise.
    private static var program: URL {
        if let path = ProcessInfo.processInfo.environment["CLOAKROOM_TIER_CRASH"] { return URL(fileURLWithPath: path) }
        let tests = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        return tests.appendingPathComponent("tier-crash")
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

    var remote: Set<Data> { Set(contents("tier/photos")) }

    func expectNothingLost(_ comment: Comment) throws {
        let remote = remote
        for device in Self.photos.keys.sorted() {
            let local = local(device)
            for photo in owned(by: device) {
                let bytes = Self.bytes(photo)
                #expect(local.contains(bytes) || remote.contains(bytes), "device \(device), photo \(photo): \(comment)")
            }
        }
        // Nothing else is ever deleted than what no device has any more.
        let needed = Set(Self.photos.keys.flatMap { owned(by: $0) }.map { MD5.hash(Self.bytes($0)).hexadecimal })
        #expect(needed.isDisjoint(with: lines("tier/deletions.txt")), comment)
    }

    /// Opens everything that a device has, in this process.
    func expectAllOpen(_ device: String, days: Double) async throws {
        let date = Self.begin + days * 86_400
        let store = try TieredPhotoStore(
            folder: file("store-\(device)"), tier: try FolderTier(file("tier"), clock: { date }),
            thumbnailer: ScriptedThumbnailer(), policy: RetentionPolicy(), conditions: ScriptedConditions(),
            clock: { date })
        for photo in owned(by: device).sorted() {
            let id = try #require(try await store.photo(named: photo), "photo \(photo)")
            let file = try await store.open(id)
            #expect(try Data(contentsOf: file.url) == Self.bytes(photo), "photo \(photo)")
        }
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

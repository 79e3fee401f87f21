import CloakroomKit
import CloakroomScriptedTier
import CloakroomTiers
import Foundation

/// What a device does between two kills.
enum Scenario: String, CaseIterable {
    case add, inbox, run, free, open, remove, restore, rebuild, migrate
}

/// A device in a folder:
///
/// - `store-{device}` is the store's, `tier` the cold tier of all devices;
/// - `sources-{device}` has the photos to be added, each under its name;
/// - `log-{device}.txt` has a line for each photo that was added, and before each one that is removed;
/// - `older-{device}/app.sqlite` has the photos of the app's older store.
struct CrashDevice {
    let folder: URL
    let name: String
    let store: TieredPhotoStore
    let date: Date
    private let points: KillPoints

    init(folder: URL, name: String, points: KillPoints, date: Date) throws {
        self.folder = folder
        self.name = name
        self.date = date
        self.points = points
        let tier = try FolderTier(
            folder.appendingPathComponent("tier", isDirectory: true), clock: { date }, step: { _ in points.cross() })
        store = try TieredPhotoStore(
            folder: folder.appendingPathComponent("store-\(name)", isDirectory: true), tier: tier,
            thumbnailer: ScriptedThumbnailer { _ in points.cross() }, policy: RetentionPolicy(),
            conditions: ScriptedConditions { points.cross() },
            clock: {
                points.cross()
                return date
            }, step: { _ in points.cross() },
            // The tests copy the folder, and mean the same phone.
            place: { _ in "phone" })
    }

    func perform(_ scenario: Scenario) async throws {
        switch scenario {
        case .add:
            for source in try sources() {
                try await store.add(source, name: source.lastPathComponent, takenAt: date)
                try log("added \(source.lastPathComponent)")
            }
        case .inbox:
            let inbox = folder.appendingPathComponent("store-\(name)", isDirectory: true)
            for source in try sources() {
                try await TieredPhotoStore.leave(
                    source, name: source.lastPathComponent, takenAt: date, inInboxOf: inbox)
                try log("added \(source.lastPathComponent)")
            }
            try check(await store.run(.manual).stoppedBy)
        case .run: try check(await store.run(.manual).stoppedBy)
        case .free: try check(await store.freeSpace(.perform).stoppedBy)
        case .open:
            for source in try sources() {
                guard let id = try await store.photo(named: source.lastPathComponent) else { continue }
                let file = try await store.open(id)
                guard try Data(contentsOf: file.url) == Data(contentsOf: source) else { throw OtherBytes() }
                file.close()
            }
        case .remove:
            for source in try sources().prefix(2) {
                guard try await store.photo(named: source.lastPathComponent) != nil else { continue }
                try log("removing \(source.lastPathComponent)")
                try await store.remove(name: source.lastPathComponent)
            }
            try check(await store.run(.manual).stoppedBy)
        case .restore: try check(await store.restoreAll().stoppedBy)
        case .rebuild: _ = try await store.rebuildCatalog()
        case .migrate:
            let table = folder.appendingPathComponent("older-\(name)/app.sqlite", isDirectory: false)
            let source = CrossedSource(source: try BlobTableSource(table), points: points)
            // Two rows at a time.
            let report = try await store.migrate(from: source, batchBytes: 6000)
            try check(report.stoppedBy ?? report.failures.first?.error)
        }
    }

    struct OtherBytes: Error {}

    private func check(_ error: CloakroomError?) throws { if let error { throw error } }

    private func sources() throws -> [URL] {
        let sources = folder.appendingPathComponent("sources-\(name)", isDirectory: true)
        return try FileManager.default.contentsOfDirectory(atPath: sources.path).sorted().map {
            sources.appendingPathComponent($0, isDirectory: false)
        }
    }

    /// Each line is written whole, or not at all.
    private func log(_ line: String) throws {
        let file = folder.appendingPathComponent("log-\(name).txt", isDirectory: false)
        if !FileManager.default.fileExists(atPath: file.path) { try Data().write(to: file) }
        let handle = try FileHandle(forWritingTo: file)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("\(line)\n".utf8))
        try handle.close()
    }
}

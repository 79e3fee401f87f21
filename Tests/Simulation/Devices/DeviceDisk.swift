import CloakroomKitTestSupport
import CloakroomLoop
import CloakroomSimulationSystem
import Foundation

/// What a disk still has of a folder after the power has failed: all that was synced, and of the rest what the seed decides.
///
/// What is there when the watch begins is taken for synced: the system writes it by itself within a minute. From then on the disk
/// has of a file the bytes of its last fsync(2), and of a folder the names of its own. Of what was not synced, each change of
/// a name may be there or not, but a renamed file never has both names or neither; bytes may be the new ones, those before, or a mix by
/// blocks, with zeros where there was nothing. POSIX leaves all of that open; most file systems promise more. One thing is as all of
/// them do it: a folder that was made is there.
@LoopActor
final class DeviceDisk {
    private struct Status {
        let number: UInt64
        let modified: UInt64
        let mode: mode_t

        var isFolder: Bool { mode & S_IFMT == S_IFDIR }
    }

    /// What is left of a file, or of a folder.
    private struct Remains {
        /// Below the folder that is watched.
        let path: String
        let status: Status
        let bytes: [UInt8]
    }

    private static let block = 4096
    private static var watched: [DeviceDisk] = []

    private let root: String
    private var random: SeededGenerator
    /// The power fails before the one of these takes place that comes after so many others; `nil` for none.
    private var syncsLeft: Int?
    private let counts: @LoopActor (String) -> Bool
    private let onLoss: @LoopActor () -> Void
    /// By folders: the names that the disk surely has, of files by their numbers.
    private var names: [String: [String: UInt64]] = [:]
    private var bytes: [UInt64: [UInt8]] = [:]
    private var statuses: [UInt64: Status] = [:]
    /// Files that the disk has had under any name.
    private var known: Set<UInt64> = []
    private var remains: [Remains]?
    /// Files that are not as the app left them, after the power has failed; a database's index of its log is no loss.
    private(set) var lost: [String] = [] {
        didSet { lost.removeAll { $0.hasSuffix("-shm") } }
    }

    var hasFailed: Bool { remains != nil }

    /// - Parameters:
    ///   - syncs: how many take place before the power fails; `nil` for any number.
    ///   - counts: whether the sync of a file or folder is one of these.
    ///   - onLoss: called when the power fails.
    init(
        _ folder: String, random: SeededGenerator, syncs: Int?, counts: @escaping @LoopActor (String) -> Bool,
        onLoss: @escaping @LoopActor () -> Void
    ) {
        root = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
        self.counts = counts
        self.random = random
        syncsLeft = syncs
        self.onLoss = onLoss
        for (folder, entries) in contents() {
            note(folder, entries)
            for (name, status) in entries where !status.isFolder {
                bytes[status.number] = Self.read("\(folder)/\(name)")
            }
        }
        Self.watched.append(self)
        Self.listen()
    }

    /// Whichever executor a sync comes from, it is on the one thread of the process.
    private nonisolated static func listen() {
        simulation_on_sync { descriptor in
            LoopActor.assumeIsolated { DeviceDisk.sync(descriptor) }
            return 0
        }
    }

    func end() {
        Self.watched.removeAll { $0 === self }
        if Self.watched.isEmpty { simulation_on_sync(nil) }
    }

    /// The power fails now; what the app does from here on is on no disk.
    func fail() {
        guard !hasFailed else { return }
        remains = drawnRemains()
        end()
        onLoss()
    }

    /// Writes what is left to a new folder.
    func restore(to target: String) {
        var written: [UInt64: String] = [:]
        for file in remains ?? [] {
            let path = "\(target)/\(file.path)"
            if file.status.isFolder {
                mkdir(path, file.status.mode & 0o777)
            } else if let other = written[file.status.number] {
                link(other, path)
            } else {
                let data = Data(file.bytes)
                guard FileManager.default.createFile(atPath: path, contents: data),
                    chmod(path, file.status.mode & 0o777) == 0
                else { Finding.end("\(path) cannot be written after a loss of power") }
                // But for databases: by its number, SQLite would take one for what the former app still has open.
                if !path.contains(".sqlite") {
                    simulation_keep_stamp(path, file.status.number, file.status.modified)
                }
                written[file.status.number] = path
            }
        }
    }

    // MARK: Syncing

    private static func sync(_ descriptor: Int32) {
        guard let path = path(of: descriptor) else { return }
        for disk in watched where path == disk.root || path.hasPrefix(disk.root + "/") { disk.sync(descriptor, path) }
    }

    private func sync(_ descriptor: Int32, _ path: String) {
        if let left = syncsLeft, counts(path) {
            syncsLeft = left - 1
            if left == 0 { return fail() }
        }
        var file = stat()
        guard fstat(descriptor, &file) == 0 else { return }
        let isFolder = file.st_mode & S_IFMT == S_IFDIR
        guard !Plant.isUnsynced(path, isFolder: isFolder) else { return }
        if isFolder {
            note(path, Self.entries(of: path))
        } else {
            bytes[UInt64(file.st_ino)] = Self.read("/proc/self/fd/\(descriptor)")
        }
    }

    private func note(_ folder: String, _ entries: [String: Status]) {
        let files = entries.filter { !$0.value.isFolder }
        names[folder] = files.mapValues(\.number)
        known.formUnion(files.values.map(\.number))
        for status in files.values { statuses[status.number] = status }
    }

    // MARK: What is left

    /// A name that is not as it was synced.
    private struct Change {
        let folder: String
        let name: String
        let before: UInt64?
        let after: UInt64?

        var files: [UInt64] { [before, after].compactMap(\.self) }
    }

    private func drawnRemains() -> [Remains] {
        let now = contents()
        var paths: [UInt64: String] = [:]
        var kept: [String: [String: UInt64]] = [:]
        var changes: [Change] = []
        for (folder, entries) in now {
            for (name, status) in entries where !status.isFolder {
                statuses[status.number] = status
                paths[status.number] = "\(folder)/\(name)"
            }
            let (before, after) = (names[folder] ?? [:], entries.filter { !$0.value.isFolder }.mapValues(\.number))
            kept[folder] = before.filter { after[$0.key] == $0.value }
            for name in Set(before.keys).union(after.keys).sorted() where before[name] != after[name] {
                changes.append(Change(folder: folder, name: name, before: before[name], after: after[name]))
            }
        }
        let named = Set(names.values.flatMap(\.values))
        let stayed = Set(kept.values.flatMap(\.values))
        for group in Self.groups(changes) {
            // A rename of which one folder was synced is in the other one as well.
            let isDone = group.contains { change in
                change.before.map(stayed.contains) == true
                    || change.after.map { !named.contains($0) && known.contains($0) } == true
            }
            let isThere = Bool.random(using: &random) || isDone
            for change in group {
                if let file = isThere ? change.after : change.before {
                    kept[change.folder, default: [:]][change.name] = file
                }
                if !isThere { lost.append(relative("\(change.folder)/\(change.name)")) }
            }
        }
        var remains: [Remains] = []
        var drawn: [UInt64: [UInt8]] = [:]
        for (folder, entries) in now {
            for (name, status) in entries.sorted(by: { $0.key < $1.key }) where status.isFolder {
                remains.append(Remains(path: relative("\(folder)/\(name)"), status: status, bytes: []))
            }
            for (name, number) in (kept[folder] ?? [:]).sorted(by: { $0.key < $1.key }) {
                let path = relative("\(folder)/\(name)")
                let left = drawn[number] ?? drawnBytes(number, at: paths[number], path)
                drawn[number] = left
                if let status = statuses[number] { remains.append(Remains(path: path, status: status, bytes: left)) }
            }
        }
        return remains
    }

    /// Changes that are one: of a file that was renamed.
    private static func groups(_ changes: [Change]) -> [[Change]] {
        var groups: [[Change]] = []
        for change in changes {
            let files = Set(change.files)
            let joined = groups.filter { group in group.contains { !files.isDisjoint(with: $0.files) } }
            groups.removeAll { group in group.contains { !files.isDisjoint(with: $0.files) } }
            groups.append(joined.flatMap(\.self) + [change])
        }
        return groups
    }

    /// - Parameter file: where it is now; `nil` for one that is gone, and with it what was not synced.
    private func drawnBytes(_ number: UInt64, at file: String?, _ path: String) -> [UInt8] {
        let before = bytes[number] ?? []
        guard let file else { return before }
        let after = Self.read(file)
        guard before != after else { return after }
        var left: [UInt8]
        switch Int.random(in: 0..<4, using: &random) {
        case 0: left = after
        case 1: left = before
        default:
            let count = Bool.random(using: &random) ? after.count : before.count
            left = before + [UInt8](repeating: 0, count: max(0, count - before.count))
            left.removeLast(left.count - count)
            for start in stride(from: 0, to: min(count, after.count), by: Self.block) where Bool.random(using: &random)
            {
                let end = min(start + Self.block, count, after.count)
                left.replaceSubrange(start..<end, with: after[start..<end])
            }
        }
        if left != after { lost.append(path) }
        return left
    }

    // MARK: Files

    private func relative(_ path: String) -> String { String(path.dropFirst(root.count + 1)) }

    /// All folders, each before those in it.
    private func contents() -> [(folder: String, entries: [String: Status])] {
        var found: [(folder: String, entries: [String: Status])] = []
        var rest = [root]
        while let folder = rest.popLast() {
            let entries = Self.entries(of: folder)
            found.append((folder, entries))
            rest += entries.filter(\.value.isFolder).keys.sorted(by: >).map { "\(folder)/\($0)" }
        }
        return found
    }

    private static func entries(of folder: String) -> [String: Status] {
        var entries: [String: Status] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            var file = stat()
            guard lstat("\(folder)/\(name)", &file) == 0 else { continue }
            entries[name] = Status(
                number: UInt64(file.st_ino),
                modified: UInt64(file.st_mtim.tv_sec) * 1_000_000_000 + UInt64(file.st_mtim.tv_nsec),
                mode: file.st_mode)
        }
        return entries
    }

    private static func path(of descriptor: Int32) -> String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
    }

    private static func read(_ path: String) -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else { Finding.end("\(path) cannot be read") }
        return Array(data)
    }
}

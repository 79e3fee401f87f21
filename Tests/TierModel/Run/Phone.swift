import CloakroomKit
import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Synchronization

/// A device of the model: a folder, a clock, power, and one or two processes.
final class Phone {
    let index: Int
    let clock = TestClock()
    let conditions = ScriptedConditions()
    /// The other folders are those of processes that were killed, and may still write.
    private(set) var folder: URL
    var life: ProcessLife
    var processes: [PhoneProcess] = []
    /// Operations that were begun, by name, and those of them that go on.
    var removals: [PhotoName: Int] = [:]
    var removalsUnderWay: [PhotoName: Int] = [:]
    var policies = 0
    /// Photos whose file has other bytes than it had.
    var damaged: Set<Int> = []
    /// Whether it has known all names all the time.
    var hasLostNames = false

    private let root: URL
    private var generation = 0

    init(_ index: Int, in root: URL) {
        self.index = index
        self.root = root
        life = ProcessLife(device: index)
        folder = root.appendingPathComponent("phone\(index)-0", isDirectory: true)
    }

    /// - Returns: a folder that is not there yet.
    func nextFolder() -> URL {
        generation += 1
        return root.appendingPathComponent("phone\(index)-\(generation)", isDirectory: true)
    }

    func move(to folder: URL) { self.folder = folder }

    /// What a kill leaves: the bytes of this moment, without what processes do later.
    static func copy(_ folder: URL, to copy: URL) {
        try? FileManager.default.copyItem(at: folder, to: copy)
        // It is made anew of the log.
        try? FileManager.default.removeItem(at: copy.appendingPathComponent("catalog.sqlite-shm"))
    }

    /// The photos whose bytes lie here, whatever the catalog says.
    func localPhotos() -> Set<Int> {
        Set(files("photos").compactMap { Self.photo(at: $0) })
            .union(files("inbox").filter { $0.pathExtension == "photo" }.compactMap { Self.photo(at: $0) })
    }

    /// The file of a photo, if there is one with its bytes.
    func file(of photo: Int) -> URL? { files("photos").first { Self.photo(at: $0) == photo } }

    static func photo(at file: URL) -> Int? { (try? Data(contentsOf: file)).flatMap { Photos.numbers[$0] } }

    private func files(_ name: String) -> [URL] {
        let folder = folder.appendingPathComponent(name, isDirectory: true)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.map { folder.appendingPathComponent($0, isDirectory: false) }
    }
}

/// One process of a device, with the photos that it has open.
final class PhoneProcess: Sendable {
    let life: ProcessLife
    let store: TieredPhotoStore
    private let files = Mutex<[Int: [PhotoFile]]>([:])
    /// Of photos that were removed meanwhile.
    private let stale = Mutex<[PhotoFile]>([])

    init(_ life: ProcessLife, _ store: TieredPhotoStore) {
        self.life = life
        self.store = store
    }

    func keep(_ file: PhotoFile, of photo: Int) { files.withLock { $0[photo, default: []].append(file) } }

    /// The photo is removed: that its file is open says nothing of one that has the same bytes later.
    func forget(_ photo: Int) {
        let files = files.withLock { $0.removeValue(forKey: photo) } ?? []
        stale.withLock { $0 += files }
    }

    func close() {
        let closing = files.withLock { files in
            defer { files = [:] }
            return files
        }
        for file in closing.values.joined() { file.close() }
        stale.withLock { $0 = [] }
    }

    func openFiles(of photo: Int) -> Int { files.withLock { $0[photo]?.count ?? 0 } }
}

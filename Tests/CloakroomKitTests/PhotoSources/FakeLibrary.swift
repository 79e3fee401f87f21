import Foundation

@testable import CloakroomKit

/// A library whose token is how many changes its history has.
actor FakeLibrary: PhotoLibraryReader {
    private var assets: [LibraryAsset] = []
    private var history: [LibraryChanges] = []
    private var hidden: Set<String> = []
    private var failing: Set<String> = []
    private var currentAccess = PhotoLibraryAccess.all
    private var changes: [Int: @Sendable (inout [LibraryAsset]) -> Void] = [:]
    /// How often all assets were listed.
    private(set) var listings = 0

    func set(_ assets: [LibraryAsset], access: PhotoLibraryAccess = .all) {
        self.assets = assets
        currentAccess = access
    }

    func change(_ id: String) { history.append(LibraryChanges(changed: [id])) }

    func delete(_ id: String) {
        assets.removeAll { $0.id == id }
        history.append(LibraryChanges(deleted: [id]))
    }

    /// Earlier tokens are of no use any more.
    func loseHistory() { history = [] }
    /// They are listed, and not found.
    func hide(_ ids: Set<String>) { hidden = ids }
    /// Their files cannot be written.
    func fail(_ ids: Set<String>) { failing = ids }

    func access() -> PhotoLibraryAccess { currentAccess }
    func token() -> Data { Data("\(history.count)".utf8) }

    func changes(since token: Data) -> LibraryChanges? {
        guard let count = Int(String(decoding: token, as: UTF8.self)), count <= history.count else { return nil }
        return history.dropFirst(count).reduce(into: LibraryChanges()) { $0.add($1) }
    }

    /// What happens right after a listing, counted from 1.
    func onListing(_ number: Int, _ change: @escaping @Sendable (inout [LibraryAsset]) -> Void) {
        changes[number] = change
    }

    func allAssets() -> [String] {
        listings += 1
        defer { changes[listings]?(&assets) }
        return assets.map(\.id)
    }

    func asset(_ id: String) -> LibraryAsset? { assets.first { $0.id == id && !hidden.contains(id) } }

    func write(_ kind: LibraryAsset.Kind, of id: String, to file: URL) throws {
        if failing.contains(id) { throw CloakroomError(.unreachable, "iCloud") }
        try Data("\(kind) of \(id)".utf8).write(to: file)
    }
}

extension LibraryAsset {
    /// With films for all kinds but photos.
    static func named(_ id: String, _ kinds: Kind...) -> LibraryAsset {
        LibraryAsset(
            id: id, modified: Date(timeIntervalSince1970: 100),
            files: kinds.map { .init(kind: $0, name: "\(id).\($0 == .photo ? "HEIC" : "MOV")") })
    }
}

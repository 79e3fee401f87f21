import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
import Foundation

/// What the end of a process can leave, and how it is finished by the next one.
extension TieredPhotoStore {
    /// The steps that need no reading of photos; for the one who has the lock.
    static func finishInterrupted(_ catalog: Catalog, _ folder: StoreFolder) throws(CloakroomError) {
        // A file that cannot be removed now is no reason to show no photo: the next one who gets the lock tries it again.
        for file in try catalog.removedFiles() { try? catalog.removeFile(file, in: folder) }
        // Copies that were not finished: their sources are where they were.
        // Where the folder cannot be listed they stay, until it can: nothing in it is a photo's only copy.
        let names = (try? StoreFolder.names(in: folder.incoming)) ?? []
        for name in names where name.hasPrefix(copyPrefix) {
            try? StoreFolder.remove(folder.incoming.appendingPathComponent(name, isDirectory: false))
        }
        try endEvictions(catalog, folder)
        try removeParts(catalog, folder)
    }

    /// Removes what came of photos that need it no more: they were removed since, or their files are here.
    ///
    /// While nothing is being fetched.
    static func removeParts(_ catalog: Catalog, _ folder: StoreFolder) throws(CloakroomError) {
        // A catalog that is to be made anew does not know yet what it needs.
        guard catalog.movedAside == nil, try catalog.setting(.rebuild) == nil else { return }
        let known = try catalog.perform { database throws(SQLiteError) in
            try database.rows("SELECT DISTINCT md5 FROM photo") { $0.blob(0) }
        }
        var needed: [[UInt8]] = []
        for md5 in folder.withParts(known) {
            let rows = try catalog.photos(catalog.ids("SELECT id FROM photo WHERE md5 = ?", [.blob(md5)]))
            if rows.contains(where: { !isHere($0, folder) }) { needed.append(md5) }
        }
        folder.removeParts(but: needed)
    }

    /// Whether a photo's file is on the device, as far as its size says.
    private static func isHere(_ row: PhotoRow, _ folder: StoreFolder) -> Bool {
        guard row.state.isLocal, let name = row.fileName, let status = StoreFolder.status(folder.photo(name))
        else { return false }
        return Int64(status.st_size) == row.byteCount
    }

    /// Photos that were proven, and allowed to leave the device: the files of some have.
    static func endEvictions(_ catalog: Catalog, _ folder: StoreFolder) throws(CloakroomError) {
        let ids = try catalog.ids("SELECT id FROM photo WHERE state = \(PhotoState.evicting.rawValue)")
        let rows = try catalog.photos(ids)
        guard !rows.isEmpty else { return }
        try StoreFolder.sync(folder.photos)
        try catalog.transaction { database throws(SQLiteError) in
            for row in rows {
                let isThere = row.fileName.flatMap { StoreFolder.status(folder.photo($0)) } != nil
                try Catalog.endEviction(of: row.id, isFileThere: isThere, in: database)
            }
        }
    }

    /// Records photos that have a file and no record, as when the process ended in between, or the catalog is a new one.
    ///
    /// A file whose bytes are not what its name says is left where it is, and no photo.
    /// - Returns: how many.
    @discardableResult
    func adoptOrphans() async throws -> Int {
        guard !hasAdoptedOrphans else { return 0 }
        var adopted = 0
        var isComplete = true
        for name in try StoreFolder.names(in: folder.photos) {
            guard let sha256 = Self.sha256(ofFile: name) else { continue }
            let known = try catalog.photo(sha256: sha256)
            if let known, !known.state.hasLeft { continue }
            let file = folder.photo(name)
            guard let stamp = try? FileStamp(path: file.path), let status = StoreFolder.status(file) else { continue }
            // One that cannot be read stays, and keeps no other from being adopted.
            guard let content = try await content(ofOrphan: file) else {
                isComplete = false
                continue
            }
            guard content.sha256 == sha256 else { continue }
            let thumbnail = await makeThumbnail(of: file)
            guard try await isUnchanged(file, since: stamp, status, sha256) else {
                isComplete = false
                continue
            }
            // The app may have added it meanwhile, or removed it.
            let isRecorded = try catalog.photo(sha256: sha256).map { !$0.state.hasLeft } ?? false
            guard !isRecorded, try !catalog.removedFiles().contains(name) else { continue }
            let row =
                try catalog.photo(sha256: sha256)
                ?? catalog.unreadPhoto(md5: content.md5, byteCount: content.byteCount)
            let format = String(name.dropFirst(65))
            _ = try catalog.record(
                content, format: format, known: row, name: nil, takenAt: stamp.date, addedAt: clock(),
                thumbnail)
            adopted += 1
            step(.adopted)
        }
        // The next run looks again at those that could not be read, or that changed meanwhile.
        hasAdoptedOrphans = isComplete
        return adopted
    }

    /// Whether nothing was written to a file in between.
    func isUnchanged(
        _ file: URL, since stamp: FileStamp, _ status: stat, _ sha256: [UInt8]
    ) async throws -> Bool {
        guard let now = try? FileStamp(path: file.path) else { return false }
        if now.isOfSameBytes(as: stamp) { return true }
        do { return try await StoreFolder.isUnchanged(file, since: status, sha256) } catch {
            guard CloakroomError(of: error).code == .cancelled else { return false }
            throw error
        }
    }

    /// - Returns: `nil` for one that cannot be read, or that the disk does not hold: it may have come from the cold tier
    ///   just before the process ended.
    private func content(ofOrphan file: URL) async throws -> PhotoContent? {
        do throws(CloakroomError) {
            let content = try await PhotoContent(of: file)
            try await Self.syncOrphan(file, in: folder.photos)
            return content
        } catch {
            guard error.code != .cancelled else { throw error }
            return nil
        }
    }

    @concurrent private static func syncOrphan(_ file: URL, in folder: URL) async throws(CloakroomError) {
        try StoreFolder.syncFile(file)
        try StoreFolder.sync(folder)
    }

    /// - Returns: `nil` for a file that is no photo's.
    static func sha256(ofFile name: String) -> [UInt8]? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 64, (1...16).contains(parts[1].utf8.count) else { return nil }
        let bytes = [UInt8](hexadecimal: parts[0].utf8)
        return bytes?.count == 32 && bytes?.hexadecimal == String(parts[0]) ? bytes : nil
    }
}

extension Catalog {
    func removedFiles() throws(CloakroomError) -> [String] {
        try perform { database throws(SQLiteError) in
            try database.rows("SELECT name FROM removed_file") { $0.text(0) }
        }
    }
}

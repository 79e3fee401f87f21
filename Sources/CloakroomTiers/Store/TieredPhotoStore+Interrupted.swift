import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
import Foundation

/// What the end of a process can leave, and how it is finished by the next one.
extension TieredPhotoStore {
    /// The steps that need no reading of photos; for the one who has the lock.
    static func finishInterrupted(_ catalog: Catalog, _ folder: StoreFolder) throws(CloakroomError) {
        for file in try catalog.removedFiles() { try catalog.removeFile(file, in: folder) }
        // Copies that were not finished: their sources are where they were.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.incoming.path)) ?? []
        for name in names where name.hasPrefix(copyPrefix) {
            try StoreFolder.remove(folder.incoming.appendingPathComponent(name, isDirectory: false))
        }
        // Proven, and allowed to leave the device; some of their files have.
        let rows = try catalog.photos(try catalog.ids("SELECT id FROM photo WHERE state = 3"))
        guard !rows.isEmpty else { return }
        try StoreFolder.sync(folder.photos)
        try catalog.transaction { database throws(SQLiteError) in
            for row in rows {
                let isThere = row.fileName.flatMap { StoreFolder.status(folder.photo($0)) } != nil
                try Catalog.set(isThere ? .both : .cold, of: row.id, in: database)
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
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: folder.photos.path) } catch {
            throw CloakroomError(of: error, otherwise: .unreadableFile, "the folder of the photos")
        }
        for name in names {
            guard let sha256 = Self.sha256(ofFile: name) else { continue }
            let known = try catalog.photo(sha256: sha256)
            if let known, known.state.rawValue <= PhotoState.evicting.rawValue { continue }
            let file = folder.photo(name)
            guard let status = StoreFolder.status(file) else { continue }
            // One that cannot be read stays, and keeps no other from being adopted.
            guard let content = try await content(ofOrphan: file), content.sha256 == sha256 else { continue }
            // Under its first name: the app may have added it meanwhile.
            let isRecorded = try catalog.photo(sha256: sha256).map { $0.state.rawValue <= 3 } ?? false
            guard !isRecorded, try !catalog.removedFiles().contains(name) else { continue }
            let thumbnail = await makeThumbnail(of: file)
            let row =
                try catalog.photo(sha256: sha256)
                ?? catalog.unreadPhoto(md5: content.md5, byteCount: content.byteCount)
            let format = String(name.dropFirst(65))
            _ = try catalog.record(
                content, format: format, known: row, name: nil, takenAt: Date(modified: status), addedAt: clock(),
                thumbnail)
            adopted += 1
            step(.adopted)
        }
        hasAdoptedOrphans = true
        return adopted
    }

    private func content(ofOrphan file: URL) async throws -> PhotoContent? {
        do { return try await PhotoContent(of: file) } catch {
            guard error.code != .cancelled else { throw error }
            return nil
        }
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

extension Date {
    /// When a file was last written.
    fileprivate init(modified status: stat) {
        #if canImport(Darwin)
            let time = status.st_mtimespec
        #else
            let time = status.st_mtim
        #endif
        self.init(timeIntervalSince1970: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }
}

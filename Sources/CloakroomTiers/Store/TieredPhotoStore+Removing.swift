import CloakroomKit
import CloakroomSQLite
import Foundation

extension TieredPhotoStore {
    /// Removes a name, and with its last name the photo: here at once, in the cold tier two days later, unless another
    /// device of the user has it.
    ///
    /// - Throws: ``CloakroomError/Code/noSuchPhoto`` when there is no such name.
    public func remove(name: String) async throws {
        try requireLock()
        guard let id = try catalog.photo(named: name) else {
            throw CloakroomError(.noSuchPhoto, "there is no photo of the name \(name)")
        }
        try remove(name, of: id)
    }

    /// Removes a photo, with all of its names.
    ///
    /// - Throws: ``CloakroomError/Code/noSuchPhoto``.
    public func remove(_ id: PhotoID) async throws {
        try requireLock()
        guard try catalog.photo(id.rawValue) != nil else { throw Self.noSuchPhoto(id) }
        try remove(nil, of: id.rawValue)
    }

    private func remove(_ name: String?, of id: Int64) throws {
        let identity = try knownAccount()
        let arrival = arrivals[id]?.file.lastPathComponent
        let md5 = try catalog.photo(id)?.md5
        let file = try catalog.remove(name, of: id, tier: identity, arrival: arrival, on: clock())
        step(.tombstoned)
        views[id] = nil
        try removePart(of: id, md5: md5)
        guard let file else { return }
        try catalog.removeFile(file, in: folder)
        step(.removed)
    }

    /// A catalog in the place of one that was lost does not name the account before it is made anew.
    private func knownAccount() throws(CloakroomError) -> String? {
        if let recorded = try catalog.setting(.identity) { return recorded }
        guard case .account(let name) = try? folder.readOwner() else { return nil }
        return name
    }
}

extension TieredPhotoStore {
    /// What had come of a photo that is no more; a fetch that is under way removes it itself.
    func removePart(of id: Int64, md5: [UInt8]?) throws {
        guard let md5, fetches[id] == nil, try catalog.photo(id) == nil else { return }
        try folder.removePart(of: md5)
    }
}

extension Catalog {
    /// Removes names and the record of a photo, and notes what is left to be done.
    ///
    /// - Parameters:
    ///   - name: `nil` for all of them.
    ///   - arrival: the file of a photo that was fetched just now.
    ///   - tier: whose object is to be deleted, when the record does not say.
    /// - Returns: the file that goes; `nil` while the photo has another name.
    func remove(
        _ name: String?, of id: Int64, tier: String?, arrival: String?, on date: Date
    ) throws(CloakroomError) -> String? {
        try transaction { database throws(SQLiteError) in
            if let name {
                try database.run("DELETE FROM photo_name WHERE name = ?", [.text(name)])
                let rest = try database.first(
                    "SELECT count(*) FROM photo_name WHERE photo = ?", [.integer(id)]
                ) { $0.integer(0) }
                guard rest == 0 else {
                    try database.run("UPDATE photo SET segment = NULL WHERE id = ?", [.integer(id)])
                    return nil
                }
            }
            guard let row = try Self.photo(id, in: database) else { return nil }
            // What no snapshot ever named and no upload has begun with is nowhere else.
            let isShared = try database.isShared(id)
            if isShared || row.state != .hot || row.tier != nil || row.segment != nil,
                let tier = row.tier?.description ?? tier
            {
                try database.run(
                    """
                    INSERT OR REPLACE INTO tombstone (md5, sha256, byte_count, format, tier, removed_at)
                    VALUES (?, ?, ?, ?, ?, ?)
                    """,
                    [
                        .blob(row.md5), .blob(row.sha256 ?? []), .integer(row.byteCount), .text(row.format),
                        .text(tier), .integer(date.milliseconds),
                    ])
            }
            try Self.forget(id, in: database)
            guard let file = row.fileName ?? arrival else { return nil }
            try database.run("INSERT OR IGNORE INTO removed_file (name) VALUES (?)", [.text(file)])
            return file
        }
    }

    /// Removes the file of a photo that has no record any more.
    func removeFile(_ name: String, in folder: StoreFolder) throws(CloakroomError) {
        try StoreFolder.remove(folder.photo(name))
        try StoreFolder.sync(folder.photos)
        try perform { database throws(SQLiteError) in
            try database.run("DELETE FROM removed_file WHERE name = ?", [.text(name)])
        }
    }
}

import CloakroomCrypto
import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The files of one user's outbox, for their user alone: `files/{id}` has an item's bytes, `files/{id}.json` what is
/// needed to make its record anew.
///
/// Backups of the device have photos and their records, from which another device goes on, and nothing else.
struct OutboxFolder: Sendable {
    let url: URL
    let files: URL
    /// Gives a copy the protection of the outbox's own files.
    private let protect: @Sendable (URL) throws -> Void
    private let setIsInBackups: @Sendable (URL, Bool) throws -> Void
    /// The number of the system's error when a file is opened; 0 for none.
    private let errorOfOpening: @Sendable (URL) -> Int32
    var database: URL { url.appendingPathComponent("outbox.sqlite", isDirectory: false) }
    var reserve: DiskReserve { DiskReserve(url: url.appendingPathComponent("reserve", isDirectory: false)) }
    var lock: URL { url.appendingPathComponent("lock", isDirectory: false) }

    /// - Parameter folder: of all users' outboxes; each has a folder of its own in it.
    init(
        in folder: URL, owner: StoreOwner, protect: @escaping @Sendable (URL) throws -> Void = { try $0.protect() },
        setIsInBackups: @escaping @Sendable (URL, Bool) throws -> Void = { try $0.setIsInBackups($1) },
        errorOfOpening: @escaping @Sendable (URL) -> Int32 = Self.errorOfOpening
    ) throws(CloakroomError) {
        self.protect = protect
        self.setIsInBackups = setIsInBackups
        self.errorOfOpening = errorOfOpening
        url = folder.appendingPathComponent(owner.folderName, isDirectory: true)
        files = url.appendingPathComponent("files", isDirectory: true)
        do {
            try FileManager.default.createDirectory(
                at: files, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CloakroomError.writing(files, error)
        }
        // Earlier versions left all of it out of backups.
        do { try url.protectFolders(with: [files], isInBackups: true) } catch {
            throw CloakroomError(of: error, otherwise: .storeFailed, "the folder of the outbox cannot be protected")
        }
    }

    func file(_ id: String) -> URL { files.appendingPathComponent(id, isDirectory: false) }

    private func record(_ id: String) -> URL { files.appendingPathComponent("\(id).json", isDirectory: false) }

    /// Copies a file, which shares its blocks where the file system can do that; a symbolic link is followed.
    ///
    /// - Returns: when the copy's bytes are on the disk.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile``, also when it changes meanwhile,
    ///   ``CloakroomError/Code/diskFull``.
    @concurrent func copy(_ source: URL, as id: String, of kind: OutboxRow.Kind) async throws -> OutboxFile {
        let original = try UploadFile(source)
        let target = file(id)
        do {
            do { try FileManager.default.copyItem(at: source.resolvingSymlinksInPath(), to: target) } catch {
                throw CloakroomError.writing(source, error)
            }
            try original.checkUnchanged()
            return try await finish(target, kind, byteCount: original.byteCount)
        } catch {
            unlink(target.path)
            throw error
        }
    }

    /// Writes bytes; otherwise as ``copy(_:as:of:)``.
    @concurrent func write(_ bytes: Data, as id: String, of kind: OutboxRow.Kind) async throws -> OutboxFile {
        let target = file(id)
        do {
            do { try bytes.write(to: target) } catch { throw CloakroomError.writing(target, error) }
            return try await finish(target, kind, byteCount: Int64(bytes.count))
        } catch {
            unlink(target.path)
            throw error
        }
    }

    private func finish(_ target: URL, _ kind: OutboxRow.Kind, byteCount: Int64) async throws -> OutboxFile {
        guard chmod(target.path, 0o600) == 0 else { throw CloakroomError.file("set the mode of", target) }
        do {
            // A copy may have the protection of what it was copied from, with which no upload could read it while the device
            // is locked, and be left out of backups as that is.
            try protect(target)
            try setIsInBackups(target, kind.isInBackups)
        } catch {
            throw CloakroomError.writing(target, error)
        }
        try Self.sync(target)
        let copy = try UploadFile(target)
        guard copy.byteCount == byteCount else {
            throw CloakroomError(.unreadableFile, "\(target.lastPathComponent) changed while it was copied")
        }
        let md5 = try await copy.md5(0..<copy.byteCount).hexadecimal
        return OutboxFile(byteCount: copy.byteCount, modified: copy.version.modified, md5: md5)
    }

    /// Writes what is needed to make the item's record anew, after its bytes.
    ///
    /// - Returns: when both are on the disk, with their names.
    func writeRecord(_ row: OutboxRow) throws(CloakroomError) {
        let file = record(row.id)
        do {
            try JSONEncoder().encode(OutboxFileRecord(row)).write(to: file, options: .atomic)
            try setIsInBackups(file, row.kind.isInBackups)
        } catch {
            throw CloakroomError.writing(file, error)
        }
        guard chmod(file.path, 0o600) == 0 else { throw .file("set the mode of", file) }
        try Self.sync(file)
        try Self.sync(files)
    }

    /// Leaves the database and assets out of backups, also those of earlier versions, which did so with the whole folder.
    ///
    /// - Parameter rows: all items. No error: a full disk is no reason not to open an outbox.
    func leaveOutOfBackups(allButPhotosOf rows: [OutboxRow]) {
        let names = (try? names(in: url)) ?? []
        let databases = names.filter { $0.hasPrefix(database.lastPathComponent) }.map { url.appendingPathComponent($0) }
        let assets = rows.filter { !$0.kind.isInBackups }.flatMap { [file($0.id), record($0.id)] }
        for file in [reserve.url] + databases + assets { try? setIsInBackups(file, false) }
    }

    func remove(_ id: String) {
        unlink(file(id).path)
        unlink(record(id).path)
    }

    /// The same for an item that is there, in the reserve of a full disk.
    func rewriteRecord(_ row: OutboxRow) throws(CloakroomError) {
        try reserve.lent { () throws(CloakroomError) in try writeRecord(row) }
    }

    /// The same, beside what else there is to do.
    @concurrent func removeSent(_ id: String) async { remove(id) }

    /// Gives the bytes of one item to another.
    func move(_ id: String, to other: String) throws(CloakroomError) {
        guard rename(file(id).path, file(other).path) == 0 else { throw .file("rename", file(id)) }
        unlink(record(id).path)
    }

    /// Whether the copy is seen to be the one that was hashed.
    func isUnchanged(_ row: OutboxRow) -> Bool {
        guard let file = try? copy(row) else { return false }
        return file.version == FileVersion(byteCount: row.file.byteCount, modified: row.file.modified)
    }

    /// - Returns: `nil` when there is none, or it cannot be read.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeFailed`` when it cannot be opened now, as while the device
    ///   is locked: nothing is known of its bytes then.
    private func copy(_ row: OutboxRow) throws(CloakroomError) -> UploadFile? {
        if let file = try? UploadFile(file(row.id)) { return file }
        let number = errorOfOpening(file(row.id))
        guard [EPERM, EACCES, EMFILE, ENFILE, ENOMEM].contains(number) else { return nil }
        throw CloakroomError(.storeFailed, "the outbox's copy cannot be opened: \(String(cString: strerror(number)))")
    }

    static func errorOfOpening(_ file: URL) -> Int32 {
        let descriptor = open(file.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return errno }
        close(descriptor)
        return 0
    }

    /// Whether there is a copy that may be the one: what it has is looked at before it is sent.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeFailed`` when it cannot be opened now.
    func hasBytes(_ row: OutboxRow) throws(CloakroomError) -> Bool { try copy(row)?.byteCount == row.file.byteCount }

    /// Whether the copy has the bytes that were hashed: reads all of it.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/cancelled``, ``CloakroomError/Code/storeFailed``, when that is
    ///   not known.
    @concurrent func hasSameBytes(_ row: OutboxRow) async throws(CloakroomError) -> Bool {
        guard let file = try copy(row), file.byteCount == row.file.byteCount else { return false }
        do throws(CloakroomError) {
            return try await file.md5(0..<file.byteCount).hexadecimal == row.file.md5
        } catch {
            guard error.code != .cancelled else { throw error }
            return false
        }
    }

    /// The items whose bytes and records are both here, as they were added, and assets that were uploaded; the oldest first.
    ///
    /// - Throws: ``CloakroomError`` for a record or a copy that cannot be opened: its item would be lost without it.
    @Sendable func recordedRows() throws(CloakroomError) -> [OutboxRow] {
        var rows: [OutboxRow] = []
        for name in try names(in: files) where name.hasSuffix(".json") {
            let file = files.appendingPathComponent(name, isDirectory: false)
            let data: Data
            do { data = try Data(contentsOf: file) } catch {
                throw CloakroomError(of: error, otherwise: .unreadableFile, "a record of the outbox")
            }
            guard let row = Self.row(data), name == "\(row.id).json" else { continue }
            let isItem = row.state == .uploaded ? true : try hasBytes(row)
            if isItem { rows.append(row) }
        }
        return rows.sorted { $0.added < $1.added }
    }

    /// - Returns: `nil` for a record that is damaged.
    private static func row(_ record: Data) -> OutboxRow? {
        (try? JSONDecoder().decode(OutboxFileRecord.self, from: record))?.row
    }

    /// Removes what belongs to no item: copies that were never recorded, and those of items that are gone. One whose record
    /// is damaged stays: it may be the only copy of a photo.
    func removeAll(but ids: Set<String>) throws(CloakroomError) {
        for name in try names(in: files) {
            let id = name.hasSuffix(".json") ? String(name.dropLast(5)) : name
            if !ids.contains(id), !hasDamagedRecord(id) { unlink(files.appendingPathComponent(name).path) }
        }
    }

    /// Removes all copies and records, also damaged ones, and databases that were moved aside: they have references and targets.
    ///
    /// - Parameter ids: of items whose records stay.
    /// - Throws: ``CloakroomError`` when one could not be removed; the others are.
    func discard(butRecordsOf ids: Set<String>) throws(CloakroomError) {
        let kept = Set(ids.map { record($0).lastPathComponent })
        let discarded = try names(in: files).filter { !kept.contains($0) }.map { files.appendingPathComponent($0) }
        let aside = try names(in: url).filter { $0.hasPrefix("\(database.lastPathComponent).") }
            .map { url.appendingPathComponent($0) }
        var failure: CloakroomError?
        for file in discarded + aside where unlink(file.path) != 0 && errno != ENOENT {
            failure = failure ?? .file("remove", file)
        }
        if let failure { throw failure }
    }

    private func hasDamagedRecord(_ id: String) -> Bool {
        let record = record(id)
        guard FileManager.default.fileExists(atPath: record.path) else { return false }
        return (try? Data(contentsOf: record)).flatMap { Self.row($0) } == nil
    }

    private func names(in folder: URL) throws(CloakroomError) -> [String] {
        do { return try FileManager.default.contentsOfDirectory(atPath: folder.path) } catch {
            throw CloakroomError(of: error, otherwise: .unreadableFile, "the folder of the outbox")
        }
    }

    private static func sync(_ file: URL) throws(CloakroomError) {
        let descriptor = open(file.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file("open", file) }
        defer { close(descriptor) }
        guard PrivateFolder.sync(descriptor) else { throw .file("sync", file) }
    }
}

/// What is written beside an item's bytes: its row as it was added, and of an asset that was uploaded where it is.
private struct OutboxFileRecord: Codable {
    let id, kind, identity: String
    let priority: Int
    let added: Double
    let file: OutboxFile
    let contentType: String
    let format: String?
    let isChatImage: Bool
    /// `nil` until it is uploaded; records of earlier versions have none.
    let uploaded: StoredTarget?

    init(_ row: OutboxRow) {
        id = row.id
        kind = row.kind.rawValue
        identity = row.identity
        priority = row.priority
        added = row.added
        file = row.file
        contentType = row.contentType
        format = row.format
        isChatImage = row.isChatImage
        uploaded = row.state == .uploaded ? row.target.map { StoredTarget($0) } : nil
    }

    /// It may have been sent before: the record does not say. Of a photo, S3 does.
    var row: OutboxRow? {
        guard let kind = OutboxRow.Kind(rawValue: kind) else { return nil }
        return OutboxRow(
            id: id, kind: kind, identity: identity, priority: priority, added: added, file: file,
            contentType: contentType, format: format, isChatImage: isChatImage,
            state: uploaded == nil ? .waiting : .uploaded, target: uploaded?.target, mayBeStored: kind == .photo)
    }
}

extension StoreOwner {
    /// Both names hashed, with which no path can be made.
    var folderName: String { SHA256.hash(bytes).prefix(16).hexadecimal }
}

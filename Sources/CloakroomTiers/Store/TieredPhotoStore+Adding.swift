import CloakroomKit
import CloakroomSQLite
public import Foundation

extension TieredPhotoStore {
    /// Copies a photo into the store.
    ///
    /// - Parameters:
    ///   - file: stays where it is.
    ///   - name: the app's, the same on all devices; any number of names may share a photo.
    /// - Returns: when the photo and its record are on the disk. The photo that has the same bytes already, if one does.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/nameTaken`` when the name is another photo's,
    ///   ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/unreadableFile``, ``CloakroomError/Code/storeFailed``,
    ///   ``CloakroomError/Code/storeInUse``: see ``leave(_:name:takenAt:inInboxOf:)``.
    @discardableResult
    public func add(_ file: URL, name: String, takenAt: Date) async throws -> PhotoID {
        try await add(file, name: name, takenAt: takenAt, addedAt: nil)
    }

    /// - Parameter addedAt: when the age of the photo begins; `nil` for now.
    @discardableResult
    package func add(_ file: URL, name: String, takenAt: Date, addedAt: Date?) async throws -> PhotoID {
        try requireLock()
        let copy = newCopyURL()
        let content = try await PhotoContent(of: file, copiedTo: copy)
        return try await addCopy(copy, content, name: name, takenAt: takenAt, addedAt: addedAt)
    }

    func newCopyURL() -> URL {
        folder.incoming.appendingPathComponent("\(Self.copyPrefix)\(UUID().uuidString)", isDirectory: false)
    }

    static let copyPrefix = "copy-"

    /// Makes a copy that is on the disk a photo.
    ///
    /// - Parameters:
    ///   - copy: in this folder; it is gone afterwards.
    ///   - name: `nil` for a photo whose name is not known.
    func addCopy(
        _ copy: URL, _ content: PhotoContent, name: String?, takenAt: Date, addedAt: Date? = nil
    ) async throws -> PhotoID {
        defer { unlink(copy.path) }
        // Made of the copy, which has no other name yet: nothing is recorded that could be half of a photo.
        let isKnown = try catalog.photo(sha256: content.sha256).map { try catalog.hasThumbnail($0.id) } ?? false
        let thumbnail: ThumbnailResult = isKnown ? .none : await makeThumbnail(of: copy)
        return try place(copy, content, name: name, takenAt: takenAt, addedAt: addedAt, thumbnail)
    }

    /// Nothing else happens in the store between the look at the record and its change.
    private func place(
        _ copy: URL, _ content: PhotoContent, name: String?, takenAt: Date, addedAt: Date?, _ thumbnail: ThumbnailResult
    ) throws -> PhotoID {
        try requireLock()
        let known =
            try catalog.photo(sha256: content.sha256)
            ?? catalog.unreadPhoto(md5: content.md5, byteCount: content.byteCount)
        if let name, let owner = try catalog.photo(named: name), owner != known?.id {
            throw CloakroomError(.nameTaken, "another photo has the name \(name)")
        }
        let format = known?.sha256 == nil ? content.format : known?.format ?? content.format
        let file = folder.photo(PhotoRow.fileName(sha256: content.sha256, format: format))
        let hadFile = StoreFolder.status(file) != nil
        // Over the one that is there, too: it may be damaged, and these bytes were hashed just now.
        try StoreFolder.move(copy, to: file)
        try StoreFolder.sync(folder.photos)
        step(.copied)
        do {
            let id = try catalog.record(
                content, format: format, known: known, name: name, takenAt: takenAt, addedAt: addedAt ?? clock(),
                thumbnail)
            step(.imported)
            return PhotoID(rawValue: id)
        } catch {
            // Not one that was a photo before.
            if !hadFile, known == nil { unlink(file.path) }
            throw error
        }
    }

    // MARK: The inbox

    /// Leaves a photo for the process that writes to a store, as an extension does while the app has the lock: the
    /// store's next run adds it.
    ///
    /// - Throws: ``CloakroomError``: as ``add(_:name:takenAt:)``. A name that is another photo's is found out later: the
    ///   photo is added then without a name.
    public static func leave(_ file: URL, name: String, takenAt: Date, inInboxOf folder: URL) async throws {
        let folder = StoreFolder(folder)
        try folder.make()
        let id = UUID().uuidString
        let photo = folder.inbox.appendingPathComponent("\(id).photo", isDirectory: false)
        let part = folder.inbox.appendingPathComponent("\(id).part", isDirectory: false)
        let content = try await PhotoContent(of: file, copiedTo: part)
        let note = InboxNote(name: name, takenAt: takenAt, sha256: content.sha256)
        do {
            try note.write(to: folder.inbox.appendingPathComponent("\(id).json", isDirectory: false))
            // The last step: a photo in the inbox has its note, and both are on the disk.
            try StoreFolder.move(part, to: photo)
            try StoreFolder.sync(folder.inbox)
        } catch {
            unlink(part.path)
            throw error
        }
    }

    /// Adds what is in the inbox.
    ///
    /// - Returns: why one of them could not be added, if any: it stays where it is.
    func emptyInbox() async throws -> CloakroomError? {
        var failure: CloakroomError?
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.inbox.path)) ?? []
        for file in names.sorted() where file.hasSuffix(".photo") {
            do {
                try await addFromInbox(folder.inbox.appendingPathComponent(file, isDirectory: false))
            } catch {
                let error = CloakroomError(of: error)
                guard error.code != .cancelled, error.code != .storeInUse else { throw error }
                failure = failure ?? error
            }
        }
        return failure
    }

    private func addFromInbox(_ photo: URL) async throws {
        let noteURL = photo.deletingPathExtension().appendingPathExtension("json")
        let note = InboxNote(at: noteURL)
        let copy = newCopyURL()
        let content = try await PhotoContent(of: photo, copiedTo: copy)
        let date = note?.takenAt ?? clock()
        do {
            _ = try await addCopy(copy, content, name: note?.name, takenAt: date)
        } catch let error as CloakroomError where error.code == .nameTaken {
            let again = newCopyURL()
            let content = try await PhotoContent(of: photo, copiedTo: again)
            _ = try await addCopy(again, content, name: nil, takenAt: date)
        }
        // Its record is on the disk.
        try StoreFolder.remove(photo)
        try StoreFolder.remove(noteURL)
    }
}

/// What is known of a photo in the inbox.
private struct InboxNote: Codable {
    var name: String
    var takenAt: Date
    var sha256: [UInt8]

    init(name: String, takenAt: Date, sha256: [UInt8]) {
        self.name = name
        self.takenAt = takenAt
        self.sha256 = sha256
    }

    /// - Returns: `nil` for none that can be read: the photo counts, with or without it.
    init?(at file: URL) {
        guard let data = try? Data(contentsOf: file), let note = try? JSONDecoder().decode(Self.self, from: data)
        else { return nil }
        self = note
    }

    func write(to file: URL) throws(CloakroomError) {
        do { try JSONEncoder().encode(self).write(to: file, options: .atomic) } catch {
            throw CloakroomError(of: error, otherwise: .unwritableFile, file.lastPathComponent)
        }
    }
}

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
        try await writing(isLong: false) { store in
            let copy = store.newCopyURL()
            let content = try await PhotoContent(of: file, copiedTo: copy)
            return try await store.addCopy(copy, content, name: name, takenAt: takenAt, addedAt: addedAt)
        }
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
        let known = try catalog.photo(sha256: content.sha256).flatMap { try catalog.thumbnail($0.id) }
        let thumbnail: ThumbnailResult = known == nil ? await makeThumbnail(of: copy) : .none
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
}

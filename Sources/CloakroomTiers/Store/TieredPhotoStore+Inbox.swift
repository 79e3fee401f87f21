import CloakroomKit
public import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

extension TieredPhotoStore {
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
        let noteURL = folder.inbox.appendingPathComponent("\(id).json", isDirectory: false)
        do {
            try note.write(to: noteURL)
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
    /// - Returns: why one of them could not be added, if any: it stays where it is. Also why the inbox could not be
    ///   listed.
    func emptyInbox() async throws -> CloakroomError? {
        let names: [String]
        do throws(CloakroomError) { names = try StoreFolder.names(in: folder.inbox) } catch { return error }
        var failure: CloakroomError?
        for file in names.sorted() where file.hasSuffix(".photo") {
            do {
                try await addFromInbox(folder.inbox.appendingPathComponent(file, isDirectory: false))
            } catch {
                let error = CloakroomError(of: error)
                guard error.code != .cancelled, error.code != .storeInUse else { throw error }
                failure = failure ?? error
            }
        }
        removeLeftovers(names)
        return failure
    }

    private func addFromInbox(_ photo: URL) async throws {
        let noteURL = photo.deletingPathExtension().appendingPathExtension("json")
        let note = InboxNote(at: noteURL)
        let copy = newCopyURL()
        let content = try await PhotoContent(of: photo, copiedTo: copy)
        guard note == nil || note?.sha256 == content.sha256 else {
            unlink(copy.path)
            throw CloakroomError(.photoDamaged, "\(photo.lastPathComponent) has other bytes than were left")
        }
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

    /// In seconds: no process copies a photo for longer.
    private static let longestCopy: TimeInterval = 86_400

    /// Removes what processes left that ended while they copied: parts, and notes without a photo.
    private func removeLeftovers(_ names: [String]) {
        let photos = Set(names.filter { $0.hasSuffix(".photo") }.map { $0.dropLast(".photo".count) })
        for name in names where !name.hasSuffix(".photo") && !photos.contains(name.dropLast(".json".count)) {
            let file = folder.inbox.appendingPathComponent(name, isDirectory: false)
            guard let status = StoreFolder.status(file) else { continue }
            // What cannot be removed now is only in the way.
            if clock().timeIntervalSince(Date(modified: status)) > Self.longestCopy { try? StoreFolder.remove(file) }
        }
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
        let bytes: Data
        do { bytes = try JSONEncoder().encode(self) } catch {
            throw CloakroomError(of: error, otherwise: .unwritableFile, file.lastPathComponent)
        }
        try StoreFolder.write(bytes, to: file)
    }
}

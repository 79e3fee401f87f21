import CloakroomCrypto
package import CloakroomKit
package import CloakroomTiers
package import Foundation

/// A cold tier that is a folder: it outlives the process that writes to it, and each write is whole or not there.
///
/// - `photos/{md5}.dat` is an object, `thumbnails/{md5}.jpg` its thumbnail, `catalogs/{name}` a document;
/// - `catalogs.times/{name}` has the document's date by the store's clock;
/// - `deletions.txt` has a line with the MD5 of each photo that was deleted.
package struct FolderTier: ColdTier {
    package let folder: URL
    let clock: @Sendable () -> Date
    let step: @Sendable (String) async -> Void

    /// - Parameters:
    ///   - folder: made when it is not there.
    ///   - clock: the store's.
    ///   - step: called before, within and after each call that lasts, and once for each that only reads.
    package init(
        _ folder: URL, clock: @escaping @Sendable () -> Date = { Date() },
        step: @escaping @Sendable (String) async -> Void = { _ in }
    ) throws {
        self.folder = folder
        self.clock = clock
        self.step = step
        for name in ["photos", "thumbnails", "catalogs", "catalogs.times", "parts"] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
        }
    }

    private func object(_ photo: PhotoDescriptor) -> URL {
        folder.appendingPathComponent("photos/\(photo.md5.hexadecimal).dat")
    }
    private func picture(_ photo: PhotoDescriptor) -> URL {
        folder.appendingPathComponent("thumbnails/\(photo.md5.hexadecimal).jpg")
    }
    private func document(_ name: String) -> URL { folder.appendingPathComponent("catalogs/\(name)") }
    private func time(_ name: String) -> URL { folder.appendingPathComponent("catalogs.times/\(name)") }

    /// `nil` when there is no file; a file that cannot be read is an error.
    private func content(_ file: URL) throws -> Data? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try Data(contentsOf: file)
    }

    private func write(_ bytes: Data, to file: URL, _ name: String) async throws {
        await step("\(name): before")
        let part = folder.appendingPathComponent("parts/\(UUID().uuidString)")
        try bytes.write(to: part)
        await step("\(name): written")
        guard rename(part.path, file.path) == 0 else {
            throw CloakroomError(.unwritableFile, "\(file.lastPathComponent) could not be renamed")
        }
        await step("\(name): after")
    }

    private func remove(_ file: URL, _ name: String) async throws {
        await step("\(name): before")
        if FileManager.default.fileExists(atPath: file.path) { try FileManager.default.removeItem(at: file) }
        await step("\(name): after")
    }

    package var identity: TierIdentity { get async throws { TierIdentity("folder:\(folder.lastPathComponent)") } }

    package func availability() async -> TierAvailability { TierAvailability() }

    package func put(_ file: URL, _ photo: PhotoDescriptor, progress: TransferProgress.Observer?) async throws {
        let bytes = try Data(contentsOf: file)
        guard photo.describes(bytes) else { throw CloakroomError(.checksumMismatch, "another file than announced") }
        if let present = try content(object(photo)) {
            await step("put: there already")
            guard present == bytes else { throw CloakroomError(.photoCollision, "there are other bytes") }
            return
        }
        try await write(bytes, to: object(photo), "put")
        progress?(TransferProgress(bytesDone: photo.byteCount, bytesTotal: photo.byteCount))
    }

    package func verify(_ photo: PhotoDescriptor, file: URL?) async throws -> ColdProof? {
        await step("verify")
        guard let bytes = try content(object(photo)) else { return nil }
        guard photo.describes(bytes) else { throw CloakroomError(.photoCollision, "there are other bytes") }
        return ColdProof(
            identity: try await identity, key: "photos/\(photo.md5.hexadecimal).dat",
            tag: SHA256.hash(bytes).hexadecimal, date: clock())
    }

    package func fetch(_ photo: PhotoDescriptor, to file: URL, progress: TransferProgress.Observer?) async throws {
        await step("fetch: before")
        guard let bytes = try content(object(photo)) else {
            throw CloakroomError(.noSuchObject, "there is no such photo", status: 404)
        }
        // The first half lasts, as a transfer's does that is cut off.
        let begun = (try content(file) ?? Data()).prefix(bytes.count)
        let half = begun + bytes.dropFirst(begun.count).prefix(bytes.count / 2)
        try half.write(to: file)
        await step("fetch: half")
        try (half + bytes.dropFirst(half.count)).write(to: file)
        await step("fetch: written")
        guard try photo.describes(Data(contentsOf: file)) else {
            try FileManager.default.removeItem(at: file)
            throw CloakroomError(.checksumMismatch, "other bytes arrived")
        }
        await step("fetch: after")
    }

    package func delete(_ photo: PhotoDescriptor) async throws {
        await step("delete: before")
        let log = folder.appendingPathComponent("deletions.txt")
        let lines = try content(log) ?? Data()
        try (lines + Data("\(photo.md5.hexadecimal)\n".utf8)).write(to: log, options: .atomic)
        try await remove(object(photo), "delete")
    }

    package func list() -> AsyncThrowingStream<ColdObject, any Error> {
        AsyncThrowingStream { continuation in
            Task {
                do {
                    await step("list")
                    for name in try names("photos") {
                        guard let md5 = [UInt8](hexadecimal: name.dropLast(4).utf8) else { continue }
                        let bytes = try Data(contentsOf: folder.appendingPathComponent("photos/\(name)"))
                        continuation.yield(ColdObject(key: "photos/\(name)", md5: md5, byteCount: Int64(bytes.count)))
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
        }
    }

    private func names(_ kind: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent(kind).path).sorted()
    }
}

extension FolderTier {
    package func putThumbnail(_ bytes: Data, of photo: PhotoDescriptor) async throws {
        try await write(bytes, to: picture(photo), "putThumbnail")
    }

    package func thumbnail(of photo: PhotoDescriptor) async throws -> Data? {
        await step("thumbnail")
        return try content(picture(photo))
    }

    package func deleteThumbnail(of photo: PhotoDescriptor) async throws {
        try await remove(picture(photo), "deleteThumbnail")
    }

    package func documents() async throws -> DocumentListing {
        await step("documents")
        let documents = try names("catalogs").map { name in
            let seconds = Double(String(decoding: try content(time(name)) ?? Data(), as: UTF8.self))
            return DocumentListing.Document(
                name: name, byteCount: Int64(try Data(contentsOf: document(name)).count),
                modified: Date(timeIntervalSince1970: seconds ?? 0))
        }
        return DocumentListing(documents: documents, date: clock())
    }

    package func putDocument(_ bytes: Data, named name: String) async throws {
        try Data(String(clock().timeIntervalSince1970).utf8).write(to: time(name), options: .atomic)
        try await write(bytes, to: document(name), "putDocument")
    }

    package func document(named name: String) async throws -> Data? {
        await step("document")
        return try content(document(name))
    }

    package func deleteDocument(named name: String) async throws { try await remove(document(name), "deleteDocument") }
}

import CloakroomCrypto
import CloakroomKit
public import Foundation

extension CloudKitColdTier {
    public func putThumbnail(_ bytes: Data, of photo: PhotoDescriptor) async throws {
        let name = Self.thumbnailName(of: photo)
        try await converting("storing \(name)") {
            guard bytes.count <= Self.maximumThumbnailBytes else { throw CloudFault.limitExceeded }
            try await database.replace(
                CloudRecord(kind: .thumbnail, name: name, byteCount: Int64(bytes.count), bytes: bytes))
        }
    }

    public func thumbnail(of photo: PhotoDescriptor) async throws -> Data? {
        let name = Self.thumbnailName(of: photo)
        return try await converting("fetching \(name)") {
            try await ifPresent(in: database.photoZone) {
                guard let bytes = try await database.fetch(name).bytes else { throw CloudFault.other(code: 1) }
                return bytes
            }
        }
    }

    public func deleteThumbnail(of photo: PhotoDescriptor) async throws {
        try await delete(Self.thumbnailName(of: photo))
    }

    /// The documents; after the first time, only what changed is requested.
    ///
    /// The listing has a date once the tier has saved something: CloudKit tells its time with what it saves.
    public func documents() async throws -> DocumentListing {
        let zone = database.documentZone
        let listing = try await converting("listing documents") {
            do {
                return try await ifPresent(in: zone) { try await currentDocuments() } ?? CloudDocuments()
            } catch {
                // What is known may be of a zone that is gone.
                await database.session.keep(CloudDocuments())
                throw error
            }
        }
        return DocumentListing(
            documents: listing.byName.values.sorted { $0.name < $1.name }, date: await database.session.serverNow)
    }

    private func currentDocuments() async throws -> CloudDocuments {
        var known = await database.session.documents
        var restarts = 0
        while true {
            guard let page = try await database.changes(in: database.documentZone, since: known.token) else {
                guard restarts < 3 else { throw CloudFault.changeTokenExpired }
                restarts += 1
                known = CloudDocuments()
                continue
            }
            for (recordName, result) in page.changed {
                let record = try result.get()
                guard recordName.hasPrefix(Self.documentPrefix) else { continue }
                let name = String(recordName.dropFirst(Self.documentPrefix.count))
                guard let modified = record.modified else { throw CloudFault.other(code: 1) }
                known.byName[name] = DocumentListing.Document(
                    name: name, byteCount: record.byteCount, modified: modified)
            }
            for recordName in page.deleted {
                known.byName.removeValue(forKey: String(recordName.dropFirst(Self.documentPrefix.count)))
            }
            known.token = page.token
            if !page.moreComing { break }
        }
        await database.session.keep(known)
        return known
    }

    public func putDocument(_ bytes: Data, named name: String) async throws {
        let recordName = try Self.documentName(name)
        try await converting("storing \(recordName)") {
            try await withScratchFile { file in
                do { try bytes.write(to: file) } catch { throw Self.unwritable(error) }
                let record = CloudRecord(
                    kind: .document, name: recordName, byteCount: Int64(bytes.count),
                    sha256: Data(SHA256.hash(bytes)), asset: file)
                try await database.save(record, in: database.documentZone, policy: .replace)
            }
        }
    }

    public func document(named name: String) async throws -> Data? {
        let recordName = try Self.documentName(name)
        return try await converting("fetching \(recordName)") {
            try await withScratchFile { file in
                let record = try await ifPresent(in: database.documentZone) {
                    try await database.download(recordName, in: database.documentZone, to: file)
                }
                guard let record else { return nil }
                guard let bytes = try? Data(contentsOf: file) else { throw CloudFault.unreadableFile }
                guard record.sha256.map({ Array($0) == SHA256.hash(bytes) }) ?? false else {
                    throw CloakroomError(.checksumMismatch, "fetching \(recordName): the bytes are others")
                }
                return bytes
            }
        }
    }

    public func deleteDocument(named name: String) async throws {
        let recordName = try Self.documentName(name)
        try await converting("deleting \(recordName)") {
            _ = try await ifPresent(in: database.documentZone) {
                try await database.delete(recordName, in: database.documentZone)
            }
        }
    }

    /// A record has at most 1 MB besides its asset.
    private static let maximumThumbnailBytes = 512 << 10
    private static let documentPrefix = "document-"

    static func thumbnailName(of photo: PhotoDescriptor) -> String { "thumbnail-\(photo.md5.hexadecimal)" }

    /// - Throws: ``CloakroomError/Code/invalidRequest``.
    private static func documentName(_ name: String) throws -> String {
        let isName =
            (1...200).contains(name.utf8.count) && name.utf8.first != UInt8(ascii: ".")
            && name.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
                    || [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")].contains($0)
            }
        guard isName else {
            throw CloakroomError(.invalidRequest, "a name is letters, digits, dots, hyphens and underscores")
        }
        return documentPrefix + name
    }

    private static func unwritable(_ error: any Error) -> CloudFault {
        .unwritableFile(isFull: (error as? CocoaError)?.code == .fileWriteOutOfSpace)
    }
}

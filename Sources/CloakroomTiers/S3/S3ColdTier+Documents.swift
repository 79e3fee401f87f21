import CloakroomCrypto
import CloakroomKit
public import Foundation

extension S3ColdTier {
    /// Of other apps too, which may make larger ones than ours.
    private static let maximumThumbnailBytes = 512 << 10

    public func putThumbnail(_ bytes: Data, of photo: PhotoDescriptor) async throws {
        try await client.put(bytes, to: try thumbnailKey(of: photo), contentType: "image/jpeg")
    }

    public func thumbnail(of photo: PhotoDescriptor) async throws -> Data? {
        let key = try thumbnailKey(of: photo)
        return try await Self.unlessAbsent {
            try await reading { try await $0.get(key, maximumBytes: Self.maximumThumbnailBytes) }
        }
    }

    public func deleteThumbnail(of photo: PhotoDescriptor) async throws {
        try await client.delete(try thumbnailKey(of: photo))
    }

    private func thumbnailKey(of photo: PhotoDescriptor) throws -> String {
        try layout.thumbnail(md5: photo.md5.hexadecimal)
    }

    /// Of 200,000 photos, with room to spare.
    private static let maximumDocumentBytes: Int64 = 64 << 20
    /// Of more devices and intents than a user has.
    private static let maximumDocuments = 100_000

    public func documents() async throws -> DocumentListing {
        let listing = try await client.listing(prefix: layout.catalogs, maximumCount: Self.maximumDocuments)
        var documents: [DocumentListing.Document] = []
        for object in listing.objects {
            let name = String(object.key.dropFirst(layout.catalogs.count))
            // What is not one of ours, such as an object of a folder below.
            guard (try? layout.catalog(named: name)) == object.key else { continue }
            guard object.byteCount >= 0, let modified = object.lastModified else {
                throw CloakroomError(.invalidResponse, "\(object.key): the listing has no size or date of it")
            }
            documents.append(.init(name: name, byteCount: object.byteCount, modified: modified))
        }
        return DocumentListing(documents: documents, date: listing.date)
    }

    public func putDocument(_ bytes: Data, named name: String) async throws {
        try await client.put(bytes, to: try layout.catalog(named: name))
    }

    public func document(named name: String) async throws -> Data? {
        let key = try layout.catalog(named: name)
        return try await Self.unlessAbsent {
            try await client.contents(of: key, maximumBytes: Self.maximumDocumentBytes)
        }
    }

    public func deleteDocument(named name: String) async throws {
        try await client.delete(try layout.catalog(named: name))
    }

    private static func unlessAbsent(_ read: () async throws -> Data) async throws -> Data? {
        do { return try await read() } catch let error as CloakroomError where error.code == .noSuchObject {
            return nil
        }
    }
}

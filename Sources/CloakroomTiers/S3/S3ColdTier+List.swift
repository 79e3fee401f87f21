import CloakroomCrypto
import CloakroomKit

extension S3ColdTier {
    public func list() -> AsyncThrowingStream<ColdObject, any Error> {
        let photos = PhotoListing(client: client, layout: layout)
        // Pulled, so that no more than a page is in memory.
        return AsyncThrowingStream { try await photos.next() }
    }
}

/// The photos of a listing, one after the other.
private actor PhotoListing {
    private let layout: PhotoLayout
    private var objects: ObjectListing.AsyncIterator

    init(client: S3BackupClient, layout: PhotoLayout) {
        self.layout = layout
        objects = client.list(prefix: layout.photos).makeAsyncIterator()
    }

    func next() async throws -> ColdObject? {
        var rest = objects
        while let object = try await rest.next() {
            guard let md5 = layout.md5(ofPhoto: object.key).flatMap({ [UInt8](hexadecimal: $0.utf8) }) else { continue }
            objects = rest
            // Without it, a photo that is there would seem to be missing.
            guard object.byteCount >= 0 else {
                throw CloakroomError(.invalidResponse, "\(object.key): the listing has no size of it")
            }
            return ColdObject(key: object.key, md5: md5, byteCount: object.byteCount, isArchived: object.isArchived)
        }
        objects = rest
        return nil
    }
}

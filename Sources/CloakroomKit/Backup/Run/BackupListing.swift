/// A user's objects in S3, by one listing: a backup of many files sends one request per page, not one per file.
struct BackupListing: Sendable {
    private var photos: [PhotoDigest: Int64] = [:]
    private var sidecars: [PhotoSidecar: Set<PhotoDigest>] = [:]

    /// - Throws: ``CloakroomError`` when a page did not come, or not whole: half a listing is none.
    init(of layout: PhotoLayout, from client: S3BackupClient, withSidecars: Bool) async throws {
        for try await object in client.list(prefix: layout.photos) {
            guard let digest = layout.md5(ofPhoto: object.key).flatMap(PhotoDigest.init(hexadecimal:)) else { continue }
            photos[digest] = object.byteCount
        }
        guard withSidecars else { return }
        for kind in PhotoSidecar.allCases {
            let prefix = kind.prefix(in: layout)
            for try await object in client.list(prefix: prefix) {
                let name = object.key.dropFirst(prefix.count).prefix { $0 != "." }
                guard let digest = PhotoDigest(hexadecimal: String(name)),
                    try kind.key(md5: String(name), in: layout) == object.key
                else { continue }
                sidecars[kind, default: []].insert(digest)
            }
        }
    }

    /// A photo was stored after the listing.
    mutating func add(_ digest: PhotoDigest, byteCount: Int64) { photos[digest] = byteCount }

    /// - Returns: `nil` when S3 named no such photo.
    func byteCount(of digest: PhotoDigest) -> Int64? { photos[digest] }

    func has(_ sidecar: PhotoSidecar, of digest: PhotoDigest) -> Bool {
        sidecars[sidecar]?.contains(digest) ?? false
    }
}

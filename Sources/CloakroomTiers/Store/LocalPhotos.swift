import Foundation

/// What the catalog said of photos on the device since it last changed: a photo that was opened is often opened again.
struct LocalPhotos {
    struct Photo {
        /// Of its file, below the folder of photos.
        let name: String
        let file: URL
        let byteCount: Int64
        /// It can be fetched.
        let hasProof: Bool
    }

    /// About 600 bytes each.
    private static let maximumCount = 1024

    private var photos: [Int64: Photo] = [:]
    private var version: Int?

    /// - Parameter version: of the catalog as it is now; `nil` when that is not known.
    func photo(_ id: Int64, at version: Int?) -> Photo? {
        guard let version, version == self.version else { return nil }
        return photos[id]
    }

    /// - Parameter version: of the catalog when it said so.
    mutating func keep(_ photo: Photo, _ id: Int64, at version: Int?) {
        if version != self.version || photos.count >= Self.maximumCount { photos = [:] }
        self.version = version
        if version != nil { photos[id] = photo }
    }
}

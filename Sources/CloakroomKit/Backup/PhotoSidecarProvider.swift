public import Foundation

/// What an app keeps beside its photos: requested only where S3 does not have it yet.
public protocol PhotoSidecarProvider: Sendable {
    /// - Parameter photo: a file whose photo S3 has.
    /// - Returns: a JPEG, stored as `thumbnails/{user}/{md5}.jpg`; `nil` for none.
    func thumbnail(of photo: URL) async throws -> Data?

    /// - Returns: a JSON document, stored as `metadata/{user}/{md5}.json`; `nil` for none.
    func metadata(of photo: URL) async throws -> Data?
}

extension PhotoSidecarProvider {
    public func thumbnail(of photo: URL) async throws -> Data? { nil }
    public func metadata(of photo: URL) async throws -> Data? { nil }
}

/// The kinds of them.
enum PhotoSidecar: CaseIterable {
    case thumbnail, metadata

    var contentType: String {
        switch self {
        case .thumbnail: "image/jpeg"
        case .metadata: "application/json"
        }
    }

    func prefix(in layout: PhotoLayout) -> String {
        switch self {
        case .thumbnail: layout.thumbnails
        case .metadata: layout.metadata
        }
    }

    func key(md5: String, in layout: PhotoLayout) throws -> String {
        switch self {
        case .thumbnail: try layout.thumbnail(md5: md5)
        case .metadata: try layout.metadata(named: "\(md5).json")
        }
    }

    func data(of photo: URL, from sidecars: any PhotoSidecarProvider) async throws -> Data? {
        switch self {
        case .thumbnail: try await sidecars.thumbnail(of: photo)
        case .metadata: try await sidecars.metadata(of: photo)
        }
    }
}

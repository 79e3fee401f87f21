import CloakroomWire
public import Foundation

/// Where the objects of the bucket can be read: turns the URL of an asset into its key.
///
/// ```swift
/// let baseURLs = try AssetBaseURLs([
///     URL(string: "https://cdn.example.com")!,
///     URL(string: "https://s3.eu-central-1.amazonaws.com/my-bucket/")!,
/// ])
/// ```
public struct AssetBaseURLs: Sendable, Equatable {
    /// For each origin the paths below which keys begin, the longest first; each ends in a slash.
    private var paths: [AssetLocation.Origin: [[UInt8]]] = [:]

    /// - Parameter bases: scheme, host, perhaps a port, and perhaps a path that comes before every key.
    /// - Throws: ``CloakroomError`` with code ``CloakroomError/Code/invalidRequest`` for a URL that is no such base.
    public init(_ bases: [URL]) throws {
        for base in bases {
            guard let location = AssetLocation(base), let path = location.path else {
                throw CloakroomError(.invalidRequest, "\(base) cannot be the base of an asset's URL")
            }
            let slash = UInt8(ascii: "/")
            paths[location.origin, default: []].append(path.last == slash ? path : path + [slash])
        }
        for origin in paths.keys { paths[origin]?.sort { $0.count > $1.count } }
    }

    enum KeyMatch: Equatable {
        case key(AssetKey)
        /// Another bucket's, or no object's at all: ignored.
        case outsideBaseURLs
        /// One of our base URLs, and yet not the URL of an object.
        case noKey
    }

    /// What a URL says: its path without what comes before the key, percent-decoded once. Query and fragment say nothing.
    func match(of url: URL) -> KeyMatch {
        guard let location = AssetLocation(url), let bases = paths[location.origin] else { return .outsideBaseURLs }
        guard let path = location.path else { return .noKey }
        guard let base = bases.first(where: { path.starts(with: $0) }) else { return .outsideBaseURLs }
        let bytes = path.dropFirst(base.count)
        // What is no UTF-8 comes out repaired, and so not the same.
        let key = String(decoding: bytes, as: UTF8.self)
        guard (1...WireLimits.maximumKeyBytes).contains(bytes.count), key.utf8.elementsEqual(bytes) else {
            return .noKey
        }
        return .key(AssetKey(key))
    }
}

extension RenewableAsset {
    /// The key of its object, as S3 has it; `nil` when its URL is not that of an object under one of these base URLs.
    public func key(in baseURLs: AssetBaseURLs) -> String? {
        guard case .key(let key) = baseURLs.match(of: url) else { return nil }
        return key.text
    }
}

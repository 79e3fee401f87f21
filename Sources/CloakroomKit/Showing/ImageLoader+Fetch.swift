import CloakroomAWS
import CloakroomCrypto
import Foundation

extension ImageLoader {
    /// Where an image is, and what it is called in the cache.
    struct Place: Sendable {
        let id: ImageID
        let origin: Origin
        /// Of its object, for an image under one of the base URLs.
        var key: String?
        /// Of its bytes, where its name tells.
        var md5: String?

        enum Origin: Sendable {
            case object(key: String)
            case url(URL)
        }

        static func id(ofObject key: String) -> ImageID { ImageID(of: "object:\(key)") }

        func digest(of bytes: [UInt8]) -> String { md5 ?? SHA256.hash(bytes).hexadecimal }
    }

    func place(of source: ImageSource) throws(CloakroomError) -> Place {
        do {
            switch source.kind {
            case .photo(let md5):
                let key = try photos().photo(md5: md5)
                return Place(id: ImageID(of: "photo:\(key)"), origin: .object(key: key), md5: md5)
            case .thumbnail(let md5):
                let key = try photos().thumbnail(md5: md5)
                return Place(id: ImageID(of: "photo:\(key)"), origin: .object(key: key))
            case .link(let link): return try place(of: link)
            }
        } catch {
            throw CloakroomError(of: error)
        }
    }

    private func photos() throws(CloakroomError) -> PhotoLayout {
        guard let layout, client != nil else {
            throw CloakroomError(.invalidRequest, "this loader has no client and layout for photos")
        }
        return layout
    }

    private static let maximumLinkBytes = 8192

    private func place(of link: String) throws(CloakroomError) -> Place {
        guard link.utf8.count <= Self.maximumLinkBytes, let url = URL(string: link), let location = AssetLocation(url),
            location.origin.scheme == "https" || ["127.0.0.1", "localhost", "[::1]"].contains(location.origin.host)
        else { throw CloakroomError(.invalidRequest, "the link of an image is no https URL") }
        guard case .key(let key) = baseURLs?.match(of: url) else {
            return Place(id: ImageID(of: "url:\(url.absoluteString)"), origin: .url(url))
        }
        return Place(id: Place.id(ofObject: key.text), origin: .url(url), key: key.text)
    }

    /// - Throws: ``CloakroomError``
    func fetch(_ place: Place) async throws -> Data {
        switch place.origin {
        case .object(let key): try await fetchObject(key, md5: place.md5)
        case .url(let url): try await fetch(url)
        }
    }

    private func fetchObject(_ key: String, md5: String?) async throws -> Data {
        guard let client else { throw CloakroomError(.invalidRequest, "this loader has no client for photos") }
        let data = try await client.contents(of: key, maximumBytes: Int64(settings.maximumImageBytes))
        guard await Self.hasMD5(data, md5) else { throw S3BackupClient.wrongBytes(key) }
        return data
    }

    @concurrent private static func hasMD5(_ data: Data, _ md5: String?) async -> Bool {
        md5.map { MD5.hash(data).hexadecimal == $0 } ?? true
    }

    private func fetch(_ url: URL) async throws(CloakroomError) -> Data {
        let request = HTTPRequest(
            method: "GET", url: url, destination: .memory(maximumBytes: settings.maximumImageBytes),
            timeout: .seconds(120))
        let response: HTTPResponse
        do {
            response = try await transport.send(request)
        } catch {
            throw CloakroomError(AWSError(error), doing: Self.doing)
        }
        guard response.status == 200 else {
            throw CloakroomError(
                Self.code(of: response.status), "\(Self.doing): status \(response.status)", status: response.status,
                retryAfter: response.retryAfter(now: runtime.wallClock()))
        }
        return response.body
    }

    /// The link is left out: it may be the only secret of an image of a chat.
    private static let doing = "loading an image"

    private static func code(of status: Int) -> CloakroomError.Code {
        switch status {
        case 404, 410: .noSuchObject
        case 401, 403: .accessDenied
        case 429: .tooManyRequests
        case 500...: .unavailable
        default: .invalidResponse
        }
    }
}

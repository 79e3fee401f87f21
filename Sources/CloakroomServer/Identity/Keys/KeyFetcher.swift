package import CloakroomHTTP
package import CloakroomJOSE
import CloakroomJSON

/// Why an issuer's keys could not be fetched; the raw value is a metric's label.
package enum KeyFetchError: String, Error, Sendable, CaseIterable {
    case unreachable
    case untrusted
    case timeout
    case interrupted
    case tooLarge = "too_large"
    /// Anything but 200, redirects among it.
    case status
    /// No JSON, no key set, or none with a key of use.
    case unusable
    /// The discovery document is another issuer's, or names keys at an address we do not send requests to.
    case wrongIssuer = "wrong_issuer"
    case cancelled
}

/// A key set as its issuer publishes it.
package struct FetchedKeys: Sendable {
    package let keys: KeySet
    /// What the keys were read from, to tell whether anything changed.
    let source: JSON
    /// How long it may count as fresh, in seconds.
    let lifetime: Int
}

/// Fetches an issuer's keys, once: at an address, or at the one its discovery document names.
package struct KeyFetcher: Sendable {
    package static let maximumBytes = 262_144
    private static let maximumDepth = 8

    private let transport: any Transport
    private let timeout: Duration

    /// - Parameters:
    ///   - transport: one that follows no redirect.
    ///   - timeout: for one exchange; a discovery makes two.
    package init(transport: any Transport, timeout: Duration) {
        self.transport = transport
        self.timeout = timeout
    }

    /// OpenID Connect Discovery 1.0 §4: the document's own issuer must be the one we requested, byte for byte.
    ///
    /// - Returns: where the keys are.
    package func discover(issuer: String) async throws(KeyFetchError) -> String {
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        let document = try Self.object(try await get(base + "/.well-known/openid-configuration"))
        guard let name = document["issuer"]?.string, name.hasSameBytes(as: issuer),
            let url = document["jwks_uri"]?.string.flatMap(IssuerURL.init)
        else { throw .wrongIssuer }
        // An external issuer must not choose requests to our own host.
        guard !url.isLoopback || IssuerURL(issuer)?.isLoopback == true else { throw .wrongIssuer }
        return url.text
    }

    package func keys(at url: String) async throws(KeyFetchError) -> FetchedKeys {
        let response = try await get(url)
        let document = try Self.object(response)
        guard let members = document["keys"], let keys = KeySet(jwks: .object(document), origin: .fetched),
            !keys.keys.isEmpty
        else { throw .unusable }
        return FetchedKeys(keys: keys, source: members, lifetime: KeyLifetime.seconds(response.fields))
    }

    private func get(_ url: String) async throws(KeyFetchError) -> UpstreamResponse {
        let request = UpstreamRequest(method: "GET", url: url, fields: ["Accept": "application/json"])
        let response: UpstreamResponse
        do throws(TransportError) { response = try await transport.send(request, timeout: timeout) } catch {
            throw KeyFetchError(error)
        }
        guard response.status == 200 else { throw .status }
        guard response.body.count <= Self.maximumBytes else { throw .tooLarge }
        return response
    }

    private static func object(_ response: UpstreamResponse) throws(KeyFetchError) -> JSON.Object {
        guard let json = try? JSON(parsing: response.body, maximumDepth: maximumDepth), let object = json.object else {
            throw .unusable
        }
        return object
    }
}

extension KeyFetchError {
    fileprivate init(_ error: TransportError) {
        switch error {
        case .unreachable, .invalidRequest, .notAllowedNow: self = .unreachable
        case .untrusted: self = .untrusted
        case .timeout: self = .timeout
        case .interrupted: self = .interrupted
        case .tooLarge: self = .tooLarge
        case .cancelled: self = .cancelled
        }
    }
}

/// How long a fetched key set counts as fresh: as its response says, within bounds of ours.
///
/// Source: RFC 9111 §4.2.1 and §5.1, of which a private cache for one document needs `max-age`, `no-store`, `no-cache`
/// and `Age`.
enum KeyLifetime {
    static let bounds: ClosedRange<Int> = 60...86_400
    /// When the response does not say.
    static let standard = 900

    /// - Returns: whole seconds, within ``bounds``.
    static func seconds(_ fields: HeaderFields) -> Int {
        var maximumAge: Int?
        for field in fields where field.name.lowercased() == "cache-control" {
            for directive in field.value.lowercased().split(separator: ",") {
                let parts = directive.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\"" } }
                switch parts.first {
                case "no-store", "no-cache": return bounds.lowerBound
                case "max-age": maximumAge = parts.dropFirst().first.flatMap(count) ?? maximumAge
                default: break
                }
            }
        }
        guard let maximumAge else { return standard }
        let age = fields["Age"].flatMap { count($0.filter { $0 != " " }) } ?? 0
        return min(max(maximumAge - age, bounds.lowerBound), bounds.upperBound)
    }

    /// A delta-seconds (RFC 9111 §1.2.2); what is larger than we can count is as much as we count to.
    private static func count(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return min(Int(text) ?? .max, 1 << 31)
    }
}

/// An address we may fetch keys from: https, or plain http to this host alone.
struct IssuerURL: Sendable, Equatable {
    let text: String
    /// Whether it names this host itself; other names are not resolved.
    let isLoopback: Bool

    init?(_ text: String) {
        guard text.utf8.count <= 1024, let origin = WebOrigin(text), origin.rest.first != "?",
            ("A-Za-z0-9._~%&?=:@+,/-" as ASCIIClass).holdsAll(of: origin.rest, count: 0...1024)
        else { return nil }
        self.text = text
        isLoopback = origin.isLoopback
        guard isLoopback || origin.scheme == "https" else { return nil }
    }
}

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
        let document = try Self.object(try await answer(from: base + "/.well-known/openid-configuration"))
        guard let name = document["issuer"]?.string, name.hasSameBytes(as: issuer),
            let url = document["jwks_uri"]?.string.flatMap(IssuerURL.init)
        else { throw .wrongIssuer }
        // An external issuer must not choose requests to our own host.
        guard !url.isLoopback || IssuerURL(issuer)?.isLoopback == true else { throw .wrongIssuer }
        return url.text
    }

    package func keys(at url: String) async throws(KeyFetchError) -> FetchedKeys {
        let response = try await answer(from: url)
        let document = try Self.object(response)
        guard let members = document["keys"], let keys = KeySet(jwks: .object(document), origin: .fetched),
            !keys.keys.isEmpty
        else { throw .unusable }
        return FetchedKeys(keys: keys, source: members, lifetime: KeyLifetime.seconds(response.fields))
    }

    private func answer(from url: String) async throws(KeyFetchError) -> UpstreamResponse {
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
        case .unreachable, .invalidRequest: self = .unreachable
        case .untrusted: self = .untrusted
        case .timeout: self = .timeout
        case .interrupted: self = .interrupted
        case .tooLarge: self = .tooLarge
        case .cancelled: self = .cancelled
        }
    }
}

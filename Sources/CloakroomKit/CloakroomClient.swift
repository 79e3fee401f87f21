package import CloakroomAWS
import CloakroomWire
public import Foundation

/// The worker's routes as calls.
///
/// ```swift
/// let client = CloakroomClient(endpoint: url) { try await account.token() }
/// let results = try await client.renewAssets(keys: ["abc123.bin"])
/// ```
///
/// Each call retries retryable failures until ``RetryPolicy/deadline``: no network, 429, 5xx. It honors `Retry-After`, and
/// fails at once with ``CloakroomError/retryAfter`` when that is longer than the deadline. Only
/// ``beginMultipartUpload(contentType:byteCount:sha256:purpose:)`` is not retried when its outcome is unknown, so that
/// no upload is begun twice. A cancelled task gets ``CloakroomError/Code/cancelled`` at once.
///
/// Errors are ``CloakroomError``, of these codes besides those of the call itself:
/// `unauthorized` when a new token did not help either, `tooManyRequests` and `unavailable` with `retryAfter`,
/// `unreachable`, `timedOut`, `untrusted`, `tokenUnavailable`, `cancelled`, `invalidResponse` when the response is not the
/// worker's, as behind a captive portal.
public struct CloakroomClient: Sendable {
    private(set) var httpClient: WorkerHTTPClient
    /// The worker's time.
    package var serverClock: ServerClock { httpClient.clock }

    /// - Parameters:
    ///   - endpoint: `https://host`, with a path where the worker has one; HTTP is for a developer's own machine.
    ///   - tokens: called for each request, and once more after a 401.
    ///   - transport: give it the one that the app's other parts use, so that they share connections.
    public init(
        endpoint: URL, tokenHeader: TokenHeader = .bearer, tokens: any TokenProvider,
        transport: any HTTPTransport = URLSessionTransport(), retryPolicy: RetryPolicy = RetryPolicy()
    ) {
        self.init(
            endpoint: endpoint, tokenHeader: tokenHeader, tokens: tokens, transport: transport,
            retryPolicy: retryPolicy,
            runtime: RuntimeDependencies())
    }

    /// - Parameter token: called for each request, and once more after a 401.
    public init(
        endpoint: URL, tokenHeader: TokenHeader = .bearer, transport: any HTTPTransport = URLSessionTransport(),
        retryPolicy: RetryPolicy = RetryPolicy(),
        token: @escaping @Sendable () async throws -> String
    ) {
        self.init(
            endpoint: endpoint, tokenHeader: tokenHeader, tokens: ClosureTokenProvider(closure: token),
            transport: transport,
            retryPolicy: retryPolicy)
    }

    package init(
        endpoint: URL, tokenHeader: TokenHeader = .bearer, tokens: any TokenProvider, transport: any HTTPTransport,
        retryPolicy: RetryPolicy = RetryPolicy(), runtime: RuntimeDependencies
    ) {
        httpClient = WorkerHTTPClient(
            endpoint: endpoint, tokenHeader: tokenHeader,
            tokens: CurrentToken(tokens, runtime: runtime), transport: transport, retryPolicy: retryPolicy,
            clock: ServerClock(runtime: runtime), runtime: runtime)
    }

    /// The same client, whose requests have no token but this user's.
    func ofUser(_ userID: String) -> CloakroomClient {
        var client = self
        client.httpClient.tokens = httpClient.tokens.ofUser(userID)
        return client
    }

    func body<Body: Decodable>(
        of request: WorkerRequest, as type: Body.Type = Body.self
    ) async throws(CloakroomError) -> Body {
        try Self.read(try await httpClient.response(to: request))
    }

    static func read<Body: Decodable>(
        _ response: HTTPResponse, as type: Body.Type = Body.self
    ) throws(CloakroomError) -> Body {
        do {
            return try wireDecoder.decode(type, from: response.body)
        } catch {
            throw .invalidResponse(response)
        }
    }
}

extension CloakroomError {
    /// - Parameter response: a success that is not the worker's; the error leaves its body out.
    static func invalidResponse(_ response: HTTPResponse) -> CloakroomError {
        CloakroomError(
            .invalidResponse, "The response is not the worker's", status: response.status,
            requestID: response.requestID)
    }
}

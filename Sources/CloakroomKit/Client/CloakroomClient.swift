package import AWS
import CloakroomWire
public import Foundation

/// The worker's routes as calls.
///
/// ```swift
/// let client = CloakroomClient(endpoint: url) { try await account.token() }
/// let results = try await client.renewAssets(keys: ["abc123.bin"])
/// ```
///
/// Each call tries again what may pass by itself, until ``Patience/deadline``: no network, 429, 5xx. It waits as long as
/// the server asks, and fails at once with ``CloakroomError/retryAfter`` when that is longer than the deadline. Only
/// ``beginMultipartUpload(contentType:byteCount:sha256:)`` is not repeated when nobody knows what became of it, so that
/// nothing is begun twice. A cancelled task gets ``CloakroomError/Code/cancelled`` at once.
///
/// Errors are ``CloakroomError``, of these codes besides those of the call itself:
/// `unauthorized` when a new token did not help either, `tooManyRequests` and `unavailable` with `retryAfter`,
/// `unreachable`, `timedOut`, `untrusted`, `tokenUnavailable`, `cancelled`, `invalidAnswer` when something stands between
/// the app and the worker.
public struct CloakroomClient: Sendable {
    let exchange: WorkerExchange
    /// The worker's time.
    package var serverClock: ServerClock { exchange.clock }

    /// - Parameters:
    ///   - endpoint: `https://host`, with a path where the worker has one; HTTP is for a developer's own machine.
    ///   - tokens: asked for each request, and once more after a 401.
    ///   - transport: give it the one that the app's other parts use, so that they share connections.
    public init(
        endpoint: URL, tokenHeader: TokenHeader = .bearer, tokens: any TokenProvider,
        transport: any HTTPTransport = URLSessionTransport(), patience: Patience = Patience()
    ) {
        self.init(
            endpoint: endpoint, tokenHeader: tokenHeader, tokens: tokens, transport: transport, patience: patience,
            surroundings: Surroundings())
    }

    /// - Parameter token: asked for each request, and once more after a 401.
    public init(
        endpoint: URL, tokenHeader: TokenHeader = .bearer, transport: any HTTPTransport = URLSessionTransport(),
        patience: Patience = Patience(),
        token: @escaping @Sendable () async throws -> String
    ) {
        self.init(
            endpoint: endpoint, tokenHeader: tokenHeader, tokens: ClosureTokens(closure: token), transport: transport,
            patience: patience)
    }

    package init(
        endpoint: URL, tokenHeader: TokenHeader = .bearer, tokens: any TokenProvider, transport: any HTTPTransport,
        patience: Patience = Patience(), surroundings: Surroundings
    ) {
        exchange = WorkerExchange(
            endpoint: endpoint, tokenHeader: tokenHeader,
            tokens: CurrentToken(tokens, surroundings: surroundings), transport: transport, patience: patience,
            clock: ServerClock(surroundings: surroundings), surroundings: surroundings)
    }

    func body<Body: Decodable>(
        of request: WorkerRequest, as type: Body.Type = Body.self
    ) async throws(CloakroomError) -> Body {
        try Self.read(try await exchange.answer(to: request))
    }

    static func read<Body: Decodable>(
        _ answer: HTTPAnswer, as type: Body.Type = Body.self
    ) throws(CloakroomError) -> Body {
        do {
            return try wireDecoder.decode(type, from: answer.body)
        } catch {
            throw .invalidAnswer(answer)
        }
    }
}

extension CloakroomError {
    /// - Parameter answer: a success that is none of ours; what it holds is nobody's business.
    static func invalidAnswer(_ answer: HTTPAnswer) -> CloakroomError {
        CloakroomError(
            .invalidAnswer, "The answer is none of the worker's", status: answer.status, requestID: answer.requestID)
    }
}

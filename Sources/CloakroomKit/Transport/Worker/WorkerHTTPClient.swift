import CloakroomAWS
import CloakroomCrypto
import Foundation

/// Talks to the worker: tokens, attempts, pauses and the deadline over all of them.
struct WorkerHTTPClient: Sendable {
    let endpoint: URL
    let tokenHeader: TokenHeader
    var tokens: CurrentToken
    let transport: any HTTPTransport
    let retryPolicy: RetryPolicy
    let clock: ServerClock
    let runtime: RuntimeDependencies

    /// - Returns: a response with status 200 or 201.
    func response(to request: WorkerRequest) async throws(CloakroomError) -> HTTPResponse {
        let deadline = runtime.now().advanced(by: retryPolicy.deadline)
        var attempts = RetryAttempts(
            maximum: min(retryPolicy.maximumAttempts, request.maximumAttempts), until: deadline, runtime)
        var token: Secret?
        switch request.authorization {
        case .provided: token = try await tokens.token()
        case .session(let session): token = session
        case .none: break
        }
        var mayRefreshToken = if case .provided = request.authorization { true } else { false }
        while true {
            switch await self.try(request, token, timeout: min(retryPolicy.timeout, try attempts.timeLeft())) {
            case .response(let response): return response
            case .final(let error): throw error
            case .again(let error): try await attempts.pause(after: error)
            case .refusedToken(let error) where error.code == .sessionRevoked:
                if mayRefreshToken, let revoked = token { await tokens.revoked(revoked) }
                throw error
            case .refusedToken(let error):
                guard mayRefreshToken, let refused = token else { throw error }
                let successor = try await tokens.successor(of: refused)
                // The same one would get the same response.
                guard successor.token != refused else { throw error }
                token = successor.token
                mayRefreshToken = !successor.isNew
            }
        }
    }

    /// The outcome of an attempt, as a decision.
    private enum AttemptOutcome {
        case response(HTTPResponse)
        case refusedToken(CloakroomError)
        case again(CloakroomError)
        case final(CloakroomError)
    }

    private func `try`(_ request: WorkerRequest, _ token: Secret?, timeout: Duration) async -> AttemptOutcome {
        let field = token.map { token in
            if case .session = request.authorization { return TokenHeader.bearer.field(token.reveal()) }
            return tokenHeader.field(token.reveal())
        }
        guard let message = request.httpRequest(to: endpoint, token: field, timeout: timeout) else {
            return .final(CloakroomError(.invalidRequest, "The endpoint is no address of a server"))
        }
        let sent = runtime.now()
        do throws(HTTPTransportError) {
            let response = try await transport.send(message)
            await clock.learn(from: response, sent: sent)
            return await outcome(response, of: request)
        } catch {
            return outcome(error, of: request)
        }
    }

    private func outcome(_ response: HTTPResponse, of request: WorkerRequest) async -> AttemptOutcome {
        if response.status == 200 || response.status == 201 { return .response(response) }
        let error = CloakroomError(response, now: await clock.now)
        switch response.status {
        case 401: return response.refusesToken ? .refusedToken(error) : .final(error)
        // The server requests a retry.
        case 408, 429, 503: return .again(error)
        // Something may have been.
        case 500, 502, 504: return request.isRepeatable ? .again(error) : .final(error)
        default: return .final(error)
        }
    }

    private func outcome(_ error: HTTPTransportError, of request: WorkerRequest) -> AttemptOutcome {
        switch error {
        case .unreachable: .again(CloakroomError(error))
        case .timedOut, .interrupted:
            request.isRepeatable ? .again(CloakroomError(error)) : .final(CloakroomError(error))
        case .untrusted, .tooLarge, .encoded, .invalidRequest, .unreadableFile, .unwritableFile, .notAllowedNow,
            .cancelled:
            .final(CloakroomError(error))
        }
    }
}

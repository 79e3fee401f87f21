import AWS
import CloakroomCrypto
import Foundation

/// Talks to the worker: tokens, tries, pauses and the deadline over all of them.
struct WorkerExchange: Sendable {
    let endpoint: URL
    let tokenHeader: TokenHeader
    let tokens: CurrentToken
    let transport: any HTTPTransport
    let patience: Patience
    let clock: ServerClock
    let surroundings: Surroundings

    /// - Returns: an answer with status 200 or 201.
    func answer(to request: WorkerRequest) async throws(CloakroomError) -> HTTPAnswer {
        let deadline = surroundings.now().advanced(by: patience.deadline)
        var tries = Tries(maximum: min(patience.maximumTries, request.maximumTries), until: deadline, surroundings)
        var token: Secret?
        switch request.authorization {
        case .provided: token = try await tokens.token()
        case .session(let session): token = session
        case .none: break
        }
        var mayAskAgain = if case .provided = request.authorization { true } else { false }
        while true {
            switch await self.try(request, token, timeout: try tries.timeout(atMost: patience.timeout)) {
            case .answer(let answer): return answer
            case .final(let error): throw error
            case .again(let error): try await tries.pause(after: error)
            case .refusedToken(let error) where error.code == .sessionRevoked:
                if mayAskAgain, let revoked = token { await tokens.revoked(revoked) }
                throw error
            case .refusedToken(let error):
                guard mayAskAgain, let refused = token else { throw error }
                mayAskAgain = false
                token = try await tokens.token(insteadOf: refused)
                // The same one would get the same answer.
                guard token != refused else { throw error }
            }
        }
    }

    /// What a try came to, as a decision.
    private enum Outcome {
        case answer(HTTPAnswer)
        case refusedToken(CloakroomError)
        case again(CloakroomError)
        case final(CloakroomError)
    }

    private func `try`(_ request: WorkerRequest, _ token: Secret?, timeout: Duration) async -> Outcome {
        let field = token.map { token in
            if case .session = request.authorization { return TokenHeader.bearer.field(token.reveal()) }
            return tokenHeader.field(token.reveal())
        }
        guard let message = request.httpRequest(to: endpoint, token: field, timeout: timeout) else {
            return .final(CloakroomError(.invalidRequest, "The endpoint is no address of a server"))
        }
        let sent = surroundings.now()
        do throws(HTTPTransportError) {
            let answer = try await transport.send(message)
            await clock.learn(from: answer, sent: sent)
            return await outcome(answer, of: request)
        } catch {
            return outcome(error, of: request)
        }
    }

    private func outcome(_ answer: HTTPAnswer, of request: WorkerRequest) async -> Outcome {
        if answer.status == 200 || answer.status == 201 { return .answer(answer) }
        let error = CloakroomError(answer, now: await clock.now)
        switch answer.status {
        case 401: return .refusedToken(error)
        // It asks us to come again.
        case 408, 429, 503: return .again(error)
        // Something may have been.
        case 500, 502, 504: return request.isRepeatable ? .again(error) : .final(error)
        default: return .final(error)
        }
    }

    private func outcome(_ error: HTTPTransportError, of request: WorkerRequest) -> Outcome {
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

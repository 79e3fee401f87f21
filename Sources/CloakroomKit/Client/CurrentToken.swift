import AWS
import CloakroomCrypto

/// Asks the token provider, for all who want a token at the same time once.
///
/// A hundred requests that come back with 401 lead to one new token: who comes with a refused token that has been
/// replaced already gets its successor.
actor CurrentToken {
    private typealias Answer = Result<Secret, CloakroomError>

    /// One question to the provider, and who waits for its answer.
    private struct Question {
        let number: Int
        let refused: Secret?
        var waiting: [Int: CheckedContinuation<Answer, Never>] = [:]
    }

    private let provider: any TokenProvider
    private let surroundings: Surroundings
    /// The last one is the one to join.
    private var questions: [Question] = []
    private var replaced: (refused: Secret, by: Secret)?
    private var lastRevoked: Secret?
    private var lastNumber = 0

    init(_ provider: any TokenProvider, surroundings: Surroundings) {
        self.provider = provider
        self.surroundings = surroundings
    }

    /// - Parameter refused: the token that the server did not take; `nil` for a first try.
    func token(insteadOf refused: Secret? = nil) async throws(CloakroomError) -> Secret {
        if let refused {
            if let replaced, replaced.refused == refused { return replaced.by }
            if questions.last?.refused != refused { ask(insteadOf: refused) }
        } else if questions.isEmpty {
            ask(insteadOf: nil)
        }
        return try await answer(to: questions[questions.count - 1].number).get()
    }

    /// Tells the provider, once for each token however many requests carried it.
    func revoked(_ token: Secret) async {
        guard lastRevoked != token else { return }
        lastRevoked = token
        await provider.sessionRevoked(token.reveal())
    }

    private func ask(insteadOf refused: Secret?) {
        lastNumber += 1
        let number = lastNumber
        questions.append(Question(number: number, refused: refused))
        let provider = provider
        _ = surroundings.spawn { await self.finish(number, with: Self.ask(provider, insteadOf: refused)) }
    }

    private func finish(_ number: Int, with answer: Answer) {
        guard let index = questions.firstIndex(where: { $0.number == number }) else { return }
        let question = questions.remove(at: index)
        if let refused = question.refused, case .success(let token) = answer { replaced = (refused, token) }
        for continuation in question.waiting.values { continuation.resume(returning: answer) }
    }

    /// A cancelled task waits no longer; the question goes on for the others.
    private func answer(to number: Int) async -> Answer {
        lastNumber += 1
        let visitor = lastNumber
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled, let index = questions.firstIndex(where: { $0.number == number }) else {
                    return continuation.resume(returning: .failure(.cancelled))
                }
                questions[index].waiting[visitor] = continuation
            }
        } onCancel: {
            Task { await self.leave(visitor) }
        }
    }

    private func leave(_ visitor: Int) {
        for index in questions.indices {
            questions[index].waiting.removeValue(forKey: visitor)?.resume(returning: .failure(.cancelled))
        }
    }

    private static func ask(_ provider: any TokenProvider, insteadOf refused: Secret?) async -> Answer {
        if let refused { await provider.tokenRefused(refused.reveal()) }
        do {
            let token = try await provider.token()
            guard isToken(token) else {
                return .failure(CloakroomError(.tokenUnavailable, "The token provider gave no usable token"))
            }
            return .success(Secret(token))
        } catch let error as CloakroomError {
            return .failure(error)
        } catch is CancellationError {
            return .failure(.cancelled)
        } catch {
            // Its text is the app's, and may hold what nobody should see.
            return .failure(CloakroomError(.tokenUnavailable, "The token provider threw \(type(of: error))"))
        }
    }

    /// Visible ASCII, so that it cannot end its header field (RFC 9110 §5.5); 8 KiB are more than servers take.
    private static func isToken(_ text: String) -> Bool {
        (1...8192).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

import CloakroomAWS
import CloakroomCrypto
import Foundation

extension SessionTokenProvider {
    func start(_ purpose: Purpose) {
        lastNumber += 1
        let number = lastNumber
        flight = Flight(number: number)
        flight?.task = runtime.spawn { await self.run(number, purpose) }
    }

    private func run(_ number: Int, _ purpose: Purpose) async {
        guard flight?.number == number else { return }
        do throws(CloakroomError) {
            guard let (session, appleUser) = try await session(for: purpose, number) else { return }
            let time = await client.serverClock.time
            guard flight?.number == number else { return }
            try accept(session, appleUser, for: purpose, time)
            endFlight(.success(session.token))
        } catch {
            guard flight?.number == number else { return }
            await fail(error, purpose)
        }
    }

    /// - Returns: with Apple's name of the user; `nil` when the session is no longer wanted.
    private func session(
        for purpose: Purpose, _ number: Int
    ) async throws(CloakroomError) -> (Session, appleUser: String?)? {
        do {
            switch purpose {
            case .continuation(let session):
                let appleUser = held?.appleUser
                return (try await client.continueSession(session, deviceID: deviceID), appleUser)
            case .signIn(let identity): return (try await signIn(identity), identity.appleUser)
            case .again(let reason):
                guard let identity = try await identity?(reason) else {
                    throw CloakroomError(.unauthorized, "The session ended: sign in again")
                }
                // The user may have signed out while being asked.
                guard flight?.number == number else { return nil }
                return (try await signIn(identity), identity.appleUser)
            }
        } catch let error as CloakroomError {
            throw error
        } catch is CancellationError {
            throw .cancelled
        } catch {
            // Its text is the app's, and may hold secrets.
            throw CloakroomError(.tokenUnavailable, "The source of identities threw \(type(of: error))")
        }
    }

    private func signIn(_ identity: SignInIdentity) async throws -> Session {
        try await client.signIn(
            identityToken: identity.token.reveal(), nonce: identity.nonce?.reveal(), deviceID: deviceID)
    }

    private func accept(
        _ session: Session, _ appleUser: String?, for purpose: Purpose, _ time: ServerTime?
    ) throws(CloakroomError) {
        switch purpose {
        case .signIn: break
        case .continuation(let earlier):
            guard session.userID == earlier.userID else {
                throw CloakroomError(.invalidResponse, "The session was continued as another user's")
            }
        case .again:
            guard endedUserID == nil || session.userID == endedUserID else {
                change(.needsSignIn(.otherUser))
                throw CloakroomError(.unauthorized, "Another user signed in: call signIn(with:) to change users")
            }
        }
        let reading = runtime.clockReading
        let now = time?.time(at: reading) ?? reading.wallClock
        let next = HeldSession(
            session: session, received: now, serverTime: ServerTime(now, at: reading), appleUser: appleUser)
        guard next.freshness(at: reading) != .ended else {
            throw CloakroomError(.invalidResponse, "The session had ended already when it came")
        }
        held = next
        endedUserID = nil
        pause.begin(afterSuccessAt: reading.instant)
        store.save { try next.stored() }
        change(.signedIn(userID: session.userID))
    }

    private func fail(_ error: CloakroomError, _ purpose: Purpose) async {
        if case .continuation = purpose, error.code == .sessionRevoked {
            await forget(.needsSignIn(.revoked), error)
            return
        }
        let reading = runtime.clockReading
        // A sign-in of the app's own says nothing about the session that is held.
        if case .signIn = purpose { return endFlight(.failure(error)) }
        var generator = RuntimeDependencies.Generator(randomNumber: runtime.randomNumber)
        pause.begin(after: error, at: reading.instant, using: &generator)
        if let held, held.freshness(at: reading) != .ended { return endFlight(.success(held.session.token)) }
        if let held { end(held, .ended) }
        if case .continuation = purpose, let reason = reasonToAsk, identity != nil { return start(.again(reason)) }
        endFlight(.failure(error))
    }

    /// A cancelled task stops waiting; the request continues for the others.
    func awaitFlight() async -> TokenResult {
        lastNumber += 1
        let number = lastNumber
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled, flight != nil else {
                    return continuation.resume(returning: .failure(.cancelled))
                }
                waiting[number] = continuation
            }
        } onCancel: {
            Task { await self.leave(number) }
        }
    }

    private func leave(_ number: Int) { waiting.removeValue(forKey: number)?.resume(returning: .failure(.cancelled)) }

    func endFlight(_ result: TokenResult) {
        flight?.task?.cancel()
        flight = nil
        for continuation in waiting.values { continuation.resume(returning: result) }
        waiting = [:]
    }
}

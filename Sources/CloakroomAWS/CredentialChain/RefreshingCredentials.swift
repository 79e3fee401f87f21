import Synchronization

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The worker's own credentials, got anew before they end.
///
/// From 15 minutes before the end, one refresh runs beside the requests; from 10 minutes on, they wait for it. While
/// the source is unreachable, the last ones are used until they expire. Refreshes are single-flight.
/// Source: botocore 1.44.5, `RefreshableCredentials`; AWS SDKs and Tools Reference Guide, "Standardized credential
/// providers".
@available(macOS 15, iOS 18, *)
package final class RefreshingCredentials: Sendable {
    /// What the log should know.
    package enum Event: Sendable {
        case obtained(ProviderName, ProvidedCredentials)
        case failed(CredentialChainError)
    }

    private struct State {
        var held: ProvidedCredentials?
        var provider: (any AWSCredentialProvider)?
        /// When a refresh is worth a try, and when it is worth waiting for.
        var advisory = Date.distantFuture
        var mandatory = Date.distantFuture
        /// After a failure there is no refresh before this.
        var notBefore = Date.distantPast
        var fault = CredentialChainError(reasons: [])
        var refresh: Task<Void, Never>?

        /// Whether refreshes pause at this time. No pause is longer than half a minute: a later one was set by a
        /// clock that has jumped back since.
        func isBackingOff(at time: Date) -> Bool { time < notBefore && notBefore <= time.addingTimeInterval(60) }

        /// Good at this time, or at any time for those that outlive their end.
        func usable(at time: Date) -> Credentials? {
            guard let held else { return nil }
            guard let end = held.credentials.expiration, !held.isUsableAfterExpiration else { return held.credentials }
            return time < end ? held.credentials : nil
        }
    }

    private let chain: CredentialChain
    private let runtime: RuntimeDependencies
    private let onEvent: @Sendable (Event) -> Void
    // Clients on any actor decide in here before they suspend; it is held for a few loads.
    private let state = Mutex(State())

    package init(
        _ chain: CredentialChain, runtime: RuntimeDependencies = .init(),
        onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        self.chain = chain
        self.runtime = runtime
        self.onEvent = onEvent
    }

    /// Those that need no thought: held, and not due. The common case of every signature.
    func cached() -> Credentials? {
        let now = runtime.wallClock()
        return state.withLock { state in now < state.advisory ? state.held?.credentials : nil }
    }

    /// What is held now, without a request.
    package struct Status: Sendable, Equatable {
        /// `nil` before any were obtained.
        package let provider: ProviderName?
        /// `nil` for those that do not end.
        package let expiration: Date?
        /// Whether they may sign now.
        package let isUsable: Bool
    }

    package var status: Status {
        let now = runtime.wallClock()
        return state.withLock { state in
            Status(
                provider: state.provider?.name, expiration: state.held?.credentials.expiration,
                isUsable: state.usable(at: now) != nil)
        }
    }

    /// - Throws: ``CredentialChainError`` when there are none, or none any more.
    package func current() async throws(CredentialChainError) -> Credentials {
        switch decide() {
        case .use(let credentials): return credentials
        case .fail(let fault): throw fault
        case .wait(let refresh): await refresh.value
        }
        let now = runtime.wallClock()
        let (usable, fault) = state.withLock { ($0.usable(at: now), $0.fault) }
        guard let usable else { throw fault }
        return usable
    }

    /// AWS said no to these: gets others, unless that has happened already, or was in vain a moment ago.
    package func refused(_ credentials: Credentials) async {
        let now = runtime.wallClock()
        let refresh = state.withLock { state -> Task<Void, Never>? in
            guard state.held?.credentials == credentials, state.refresh != nil || !state.isBackingOff(at: now) else {
                return nil
            }
            return started(&state)
        }
        await refresh?.value
    }

    // MARK: Deciding

    private enum Decision {
        case use(Credentials)
        case wait(Task<Void, Never>)
        case fail(CredentialChainError)
    }

    private func decide() -> Decision {
        let now = runtime.wallClock()
        return state.withLock { state in
            let usable = state.usable(at: now)
            if let usable, now < state.advisory { return .use(usable) }
            guard state.refresh != nil || !state.isBackingOff(at: now) else {
                return usable.map { .use($0) } ?? .fail(state.fault)
            }
            let refresh = started(&state)
            guard let usable, now < state.mandatory else { return .wait(refresh) }
            return .use(usable)
        }
    }

    private func started(_ state: inout State) -> Task<Void, Never> {
        if let running = state.refresh { return running }
        let task = runtime.spawn { await self.refresh() }
        state.refresh = task
        return task
    }

    // MARK: Refreshing

    private func refresh() async {
        do throws(CredentialChainError) {
            let (provider, obtained) = try await obtain()
            try store(obtained, from: provider)
            onEvent(.obtained(provider.name, obtained))
        } catch {
            fail(error)
            onEvent(.failed(error))
        }
    }

    /// The provider that gave credentials once is used from then on: the worker keeps its identity.
    private func obtain() async throws(CredentialChainError) -> (any AWSCredentialProvider, ProvidedCredentials) {
        guard let provider = state.withLock({ $0.provider }) else { return try await chain.first() }
        do throws(CredentialProviderError) {
            return (provider, try await provider.credentials())
        } catch {
            throw CredentialChainError(reasons: [.init(provider: provider.name, text: error.reason)])
        }
    }

    private func store(_ obtained: ProvidedCredentials, from provider: any AWSCredentialProvider)
        throws(CredentialChainError)
    {
        let now = runtime.wallClock()
        let end = obtained.credentials.expiration ?? .distantFuture
        guard end > now || obtained.isUsableAfterExpiration else {
            throw CredentialChainError(reasons: [
                .init(provider: provider.name, text: "the credentials have ended already")
            ])
        }
        let left = max(0, end.timeIntervalSince(now))
        state.withLock { state in
            state.held = obtained
            state.provider = provider
            state.refresh = nil
            // AWS's limit for requests after a refusal.
            state.notBefore = now.addingTimeInterval(obtained.credentials.expiration == nil ? 5 : 1)
            if obtained.credentials.expiration == nil {
                (state.advisory, state.mandatory) = (.distantFuture, .distantFuture)
            } else if end <= now {
                // The metadata service is failing and will prolong them: SDKs decide again after 5 to 10 minutes.
                let next = now.addingTimeInterval(300 + 300 * jitter)
                (state.advisory, state.mandatory) = (next, next)
            } else {
                // Not all workers in one second; and for short-lived ones not at every request.
                state.advisory = max(end.addingTimeInterval(-900 + 180 * jitter), now.addingTimeInterval(left / 2))
                state.mandatory = max(end.addingTimeInterval(-600), now.addingTimeInterval(left * 3 / 4))
            }
        }
    }

    private func fail(_ fault: CredentialChainError) {
        let now = runtime.wallClock()
        state.withLock { state in
            state.refresh = nil
            state.fault = fault
            // With credentials in hand there is time; without, requests fail meanwhile.
            let pause = state.usable(at: now) != nil ? 30.0 : 2
            state.notBefore = now.addingTimeInterval(pause * (1 + jitter) / 2)
        }
    }

    /// From 0 to 1.
    private var jitter: Double {
        var generator = RuntimeDependencies.Generator(randomNumber: runtime.randomNumber)
        return Double.random(in: 0...1, using: &generator)
    }
}

@available(macOS 15, iOS 18, *)
extension CredentialSource {
    /// Those that refresh themselves.
    package init(_ refreshing: RefreshingCredentials) {
        self.init(
            current: { try await refreshing.current() }, onRejected: { await refreshing.refused($0) },
            cached: { refreshing.cached() })
    }
}

import CloakroomAWS
import CloakroomLoop
import CloakroomServer

/// Tells the log where the worker's own credentials come from, once, and whatever changes about that.
@LoopActor
final class CredentialReport {
    private let log: Log
    /// Of the sessions that are vended.
    private let lifetime: Duration
    private var origin: String?
    private var fault: CredentialChainError?

    init(log: Log, lifetime: Duration) {
        self.log = log
        self.lifetime = lifetime
    }

    func take(_ event: RefreshingCredentials.Event) {
        switch event {
        case .obtained(let provider, let provided): obtained(provider, provided)
        case .failed(let fault): failed(fault)
        }
    }

    private func obtained(_ provider: ProviderName, _ provided: ProvidedCredentials) {
        let isNew = origin != provided.origin
        if isNew || fault != nil {
            log.info(
                "AWS credentials are there",
                ["provider": .text(provider.rawValue), "origin": .text(provided.origin)])
        }
        fault = nil
        origin = provided.origin
        let limit = CredentialSource(provided.credentials).maximumSessionDuration
        if isNew, let limit, lifetime > limit {
            log.warning(
                "sessions end earlier than the settings say: the worker's own credentials are a role's",
                [
                    "lifetimeSeconds": .integer(Int(lifetime.components.seconds)),
                    "limitSeconds": .integer(Int(limit.components.seconds)),
                ])
        }
    }

    private func failed(_ fault: CredentialChainError) {
        guard self.fault != fault else { return }
        self.fault = fault
        log.warning("no AWS credentials", ["reason": .text(fault.summary)])
    }
}

package import CloakroomWire

/// Why a request for less than the tier's is refused.
package enum GrantRefusal: Error, Sendable, Equatable {
    /// There is no such scope, or it allows something that the tier's does not.
    case scope
    /// A longer or shorter life than can be had, in seconds.
    case lifetime(possible: ClosedRange<Int>)
}

extension Grant {
    /// STS API Reference, AssumeRole, DurationSeconds.
    package static let shortestLifetime = 900

    /// This grant with as much taken from it as the request says.
    package func narrowed(by request: CredentialRequest, among scopes: Scopes) throws(GrantRefusal) -> Grant {
        var scope = scope
        if let name = request.scope {
            guard let asked = scopes[name], scopes.covers(scope, asked) else { throw .scope }
            scope = asked
        }
        var lifetime = lifetime
        if let seconds = request.lifetimeSeconds {
            let longest = Int(lifetime.components.seconds)
            let possible = min(Self.shortestLifetime, longest)...longest
            guard possible.contains(seconds) else { throw .lifetime(possible: possible) }
            lifetime = .seconds(seconds)
        }
        return Grant(scope: scope, lifetime: lifetime, tier: tier)
    }
}

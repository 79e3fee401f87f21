/// One part of a deployment that the doctor looks at.
package enum CheckName: String, Sendable, CaseIterable {
    case settings
    case redis
    case keys
    case endpoints
    case bucket
    case lifecycle
    case renewal = "touch"
    case store
    case worker
    case role
    case scopes
    case nginx = "front"
    case browsers
    case sockets

    /// What it looks at, in a line.
    package var about: String {
        switch self {
        case .settings: "what the settings allow and should not"
        case .redis: "version, latency, role, eviction, persistence, scripts"
        case .keys: "the key sets of all issuers"
        case .endpoints: "STS and S3 respond, their TLS, their clocks and ours"
        case .bucket: "is there, in its Region; versions; a missing key is 404"
        case .lifecycle: "the rule that ends what is not renewed"
        case .renewal: "which way of renewing works, and what survives it"
        case .store: "what it is; whether it honours conditions, checksums and owners"
        case .worker: "the worker's own credentials, and that they open no more than needed"
        case .role: "the role of users' sessions: tags, lifetime"
        case .scopes: "vended credentials: own folder open, all else closed"
        case .nginx: "nginx: headers, limits, TLS, what is public"
        case .browsers: "web pages: settings, nginx and bucket agree on them"
        case .sockets: "the workers themselves, past nginx, and what they lack"
        }
    }
}

extension CheckName {
    package func ok(_ found: String) -> Finding { Finding(self, .ok, found, nil, nil) }

    package func skipped(_ found: String, advice: String? = nil) -> Finding {
        Finding(self, .skipped, found, nil, advice)
    }

    /// - Parameter command: what helps, with `FILE` for the settings file; `nil`: no command does by itself.
    package func warning(_ found: String, why: String, advice: String, command: String? = nil) -> Finding {
        Finding(self, .warning, found, why, advice, command: command)
    }

    package func error(_ found: String, why: String, advice: String, command: String? = nil) -> Finding {
        Finding(self, .error, found, why, advice, command: command)
    }
}

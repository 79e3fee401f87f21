package import CloakroomHTTP

/// What became of one request.
package enum LoadOutcome: Sendable, Equatable {
    case response(status: Int)
    case failure(LoadFailure)

    /// Whether it counts among the errors: anything but a response of 2xx or 3xx.
    package var isError: Bool {
        switch self {
        case .response(let status): !(200..<400).contains(status)
        case .failure: true
        }
    }
}

/// Why there was no response.
package enum LoadFailure: String, Sendable, Equatable, CaseIterable {
    case unreachable
    case untrusted
    case timeout
    case interrupted
    case malformed
    /// So many were open that this one was not sent: a generator that sent it later would measure something else.
    case notSent = "not-sent"

    package init(_ error: TransportError) {
        switch error {
        case .unreachable: self = .unreachable
        case .untrusted: self = .untrusted
        case .timeout: self = .timeout
        case .interrupted, .cancelled, .notAllowedNow: self = .interrupted
        case .tooLarge, .invalidRequest: self = .malformed
        }
    }
}

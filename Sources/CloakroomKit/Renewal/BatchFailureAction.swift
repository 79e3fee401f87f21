/// What the failure of a whole batch means for the run.
enum BatchFailureAction: Equatable {
    /// The keys may be at fault: they are sent in smaller batches. The run continues.
    case keysDoubtful
    /// The network failed, not the keys. The run continues.
    case networkDown
    /// Nothing is sent for that long; `keysDoubtful` as above.
    case pause(Duration, keysDoubtful: Bool)
    /// Every other batch would fail, too.
    case stop

    init(_ error: CloakroomError) {
        switch error.code {
        case .tooManyRequests: self = .pause(error.retryAfter ?? .seconds(900), keysDoubtful: false)
        case .unreachable: self = .networkDown
        case .cancelled, .unauthorized, .sessionRevoked, .forbidden, .userDisabled, .subscriptionRequired, .untrusted,
            .notAllowedNow:
            self = .stop
        default: self = error.retryAfter.map { .pause($0, keysDoubtful: true) } ?? .keysDoubtful
        }
    }
}

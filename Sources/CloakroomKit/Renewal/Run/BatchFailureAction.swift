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
        switch (error.code, error.reach) {
        case (.tooManyRequests, _): self = .pause(error.retryAfter ?? .seconds(900), keysDoubtful: false)
        case (.unreachable, _): self = .networkDown
        case (.cancelled, _), (_, .all): self = .stop
        // One key can make the server, or a filter before it, fail for the whole batch.
        case (_, .perhapsAll), (_, .one):
            self = error.retryAfter.map { .pause($0, keysDoubtful: true) } ?? .keysDoubtful
        }
    }
}

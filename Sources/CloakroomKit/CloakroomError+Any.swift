extension CloakroomError {
    package static let cancelled = CloakroomError(.cancelled, "The task was cancelled")

    /// Any error as a ``CloakroomError``: the app's own types may throw errors of any type.
    ///
    /// - Parameters:
    ///   - code: of one that is not a ``CloakroomError``.
    ///   - message: what failed then.
    package init(of error: any Error, otherwise code: Code = .unknown, _ message: String? = nil) {
        switch error {
        case let error as CloakroomError: self = error
        case is CancellationError: self = .cancelled
        default: self.init(code, message.map { "\($0): \(error)" } ?? "\(error)")
        }
    }
}

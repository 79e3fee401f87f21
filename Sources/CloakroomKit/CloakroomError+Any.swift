extension CloakroomError {
    static let cancelled = CloakroomError(.cancelled, "The task was cancelled")

    /// An error as it is reported, whoever threw it: parts that the app brings throw what they like.
    ///
    /// - Parameters:
    ///   - code: of one that is not ours.
    ///   - message: what failed then.
    init(of error: any Error, otherwise code: Code = .unknown, _ message: String? = nil) {
        switch error {
        case let error as CloakroomError: self = error
        case is CancellationError: self = .cancelled
        default: self.init(code, message.map { "\($0): \(error)" } ?? "\(error)")
        }
    }
}

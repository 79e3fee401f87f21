extension CloakroomError {
    /// An error of a part that the app may bring itself: as it is when it is one of ours, else with this code.
    init(_ error: any Error, otherwise code: Code, _ message: String) {
        switch error {
        case let error as CloakroomError: self = error
        case is CancellationError: self.init(.cancelled, "cancelled")
        default: self.init(code, "\(message): \(error)")
        }
    }
}

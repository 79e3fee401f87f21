/// What a process has learnt about whether its store copies objects onto themselves as they are.
///
/// A store that refused is asked again each hour, by one copy for all: stores are upgraded, and endpoints moved.
struct SelfCopying {
    private static let memory: Duration = .seconds(3600)

    /// `nil` while nothing was refused.
    private var asksAgain: ContinuousClock.Instant?

    /// - Returns: what the next copy should say of the metadata.
    mutating func directive(
        in mode: RenewalSettings.Mode, now: () -> ContinuousClock.Instant
    ) -> CopyRequest.MetadataDirective {
        switch mode {
        case .copy: return .copy
        case .replace: return .replace
        case .auto:
            guard let asksAgain else { return .copy }
            let now = now()
            guard now >= asksAgain else { return .replace }
            self.asksAgain = now + Self.memory
            return .copy
        }
    }

    mutating func wasRefused(at now: ContinuousClock.Instant) { asksAgain = now + Self.memory }

    /// It takes copies as they are, or nothing else either.
    mutating func forget() { asksAgain = nil }
}

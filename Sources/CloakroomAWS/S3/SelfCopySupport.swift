/// What a process has learnt about whether its store copies objects onto themselves as they are.
///
/// A store that refused is tried again each hour, by one copy for all: stores are upgraded, and endpoints moved.
struct SelfCopySupport {
    private static let refusalLifetime: Duration = .seconds(3600)

    /// `nil` while nothing was refused.
    private var retriesAt: ContinuousClock.Instant?

    /// - Returns: what the next copy should say of the metadata.
    mutating func directive(
        in mode: RenewalSettings.Mode, now: () -> ContinuousClock.Instant
    ) -> CopyRequest.MetadataDirective {
        switch mode {
        case .copy: return .copy
        case .replace: return .replace
        case .auto:
            guard let retriesAt else { return .copy }
            let now = now()
            guard now >= retriesAt else { return .replace }
            self.retriesAt = now + Self.refusalLifetime
            return .copy
        }
    }

    mutating func wasRefused(at now: ContinuousClock.Instant) { retriesAt = now + Self.refusalLifetime }

    /// It takes copies as they are, or nothing else either.
    mutating func forget() { retriesAt = nil }
}

import CloakroomCrypto
import CloakroomLoop

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Remembers which tokens were verified, so that each signature is checked about once.
@LoopActor
final class VerifiedTokens {
    private struct Entry {
        let subject: Subject
        let end: Date
        let keys: IssuerKeys
        /// That of the keys when they verified it.
        let generation: Int

        @LoopActor func isGood(_ now: Date) -> Bool { now < end && keys.generation == generation }
    }

    // By SHA-256 of the token: the tokens themselves are not kept.
    private var entries: GenerationalCache<SHA256.Digest, Entry>

    init(capacity: Int) { entries = GenerationalCache(capacity: capacity) }

    var count: Int { entries.count }

    func removeAll() { entries.removeAll() }

    /// - Parameter key: the token's digest.
    /// - Returns: `nil` for a token that was not seen, is over, or was verified with keys that are others by now.
    func subject(of key: SHA256.Digest, now: Date) -> Subject? {
        entries.value(for: key) { $0.isGood(now) }?.subject
    }

    /// - Parameters:
    ///   - key: the token's digest.
    ///   - keys: those that verified it, as they are now.
    func insert(_ subject: Subject, for key: SHA256.Digest, until end: Date, keys: IssuerKeys) {
        entries.insert(Entry(subject: subject, end: end, keys: keys, generation: keys.generation), for: key)
    }
}

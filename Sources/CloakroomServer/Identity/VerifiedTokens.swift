import CloakroomCrypto
import CloakroomLoop

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Remembers which tokens were verified, so that each signature is checked about once.
///
/// Two generations of half the capacity: when the young one is full it becomes the old one, and the old one goes.
/// What is looked up moves back to the young one, so tokens in use stay and nothing is ever searched for a victim.
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

    private let generationSize: Int
    // By SHA-256 of the token: the tokens themselves are not kept.
    private var young: [SHA256.Digest: Entry] = [:]
    private var old: [SHA256.Digest: Entry] = [:]

    /// - Parameter capacity: at least 2.
    init(capacity: Int) {
        precondition(capacity >= 2, "one token a generation")
        generationSize = capacity / 2
    }

    var count: Int { young.count + old.count }

    /// - Parameter key: the token's digest.
    /// - Returns: `nil` for a token that was not seen, is over, or was verified with keys that are others by now.
    func subject(of key: SHA256.Digest, now: Date) -> Subject? {
        if let entry = young[key] { return entry.isGood(now) ? entry.subject : nil }
        guard let entry = old.removeValue(forKey: key), entry.isGood(now) else { return nil }
        insert(entry, key)
        return entry.subject
    }

    /// - Parameters:
    ///   - key: the token's digest.
    ///   - keys: those that verified it, as they are now.
    func insert(_ subject: Subject, for key: SHA256.Digest, until end: Date, keys: IssuerKeys) {
        insert(Entry(subject: subject, end: end, keys: keys, generation: keys.generation), key)
    }

    private func insert(_ entry: Entry, _ key: SHA256.Digest) {
        if young.count >= generationSize {
            // The table stays: to grow a new one would cost as much as to verify a signature does.
            swap(&old, &young)
            young.removeAll(keepingCapacity: true)
        }
        young[key] = entry
    }
}

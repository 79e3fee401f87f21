import CloakroomAWS

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The standing proof that the bucket keeps its promise: each day two small objects, one that is not renewed and that
/// must be gone when its days are over, and one that is renewed as clients do and must outlive them.
///
/// A value that is told what is in the bucket and says what that means and what is to be done. It lies in the bucket
/// itself, beside the canaries: a host that is no more leaves nothing behind for long.
package struct Canaries: Sendable, Equatable {
    package enum Role: String, Sendable, CaseIterable { case delete, keep }

    package struct Canary: Sendable, Equatable {
        package let role: Role
        /// When its day began; names it.
        package let day: Date
        package let written: Date
        /// By the latest renewal, if there was one.
        package var renewed: Date?
        /// Whether it is where an earlier version kept its canaries.
        package let isFormer: Bool

        package init(role: Role, day: Date, written: Date, renewed: Date? = nil, isFormer: Bool = false) {
            self.role = role
            self.day = day
            self.written = written
            self.renewed = renewed
            self.isFormer = isFormer
        }

        /// Behind the host's prefix; with ``Canaries/formerMark`` behind its former prefix.
        package var name: String { (isFormer ? Canaries.formerMark : "") + Canaries.name(role, day) }
    }

    /// What the names of canaries at the former prefix begin with here; not in the bucket.
    package static let formerMark = "former:"

    /// How a promise was found broken.
    package enum Failure: String, Sendable, CaseIterable {
        /// Gone before its days were over, and no renewal was due.
        case early
        /// Renewed, and gone all the same.
        case lost
        /// Still there after its days and the grace.
        case late
        /// It could not be renewed, or was and has the old date.
        case renewal
        /// Its bytes are no longer those that were stored.
        case spoilt
    }

    package struct FailedCanary: Sendable, Equatable {
        package let failure: Failure
        package let text: String

        package init(failure: Failure, text: String) {
            self.failure = failure
            self.text = text
        }
    }

    /// Older than the grace allows, or on its way.
    package enum State: String, Sendable, CaseIterable {
        /// Its days are not over.
        case waiting
        /// Its days are over, the grace is not.
        case expired
        case late
    }

    package let days: Int
    package let clock: ExpirationClock
    package let grace: Duration
    /// Whether a rule is for the former prefix. If not, what is there cannot expire, and is no longer followed once it
    /// should have.
    package let formerExpire: Bool
    package var canaries: [Canary] = []
    /// When one that was not renewed was last found gone, in its time.
    package var lastExpiry: Date?
    /// When one that was renewed was last found beyond its first expiration, its sibling gone.
    package var lastSurvival: Date?

    package init(
        days: Int, clock: ExpirationClock = ExpirationClock(), grace: Duration, formerExpire: Bool = true
    ) {
        self.days = days
        self.clock = clock
        self.grace = grace
        self.formerExpire = formerExpire
    }

    package static func name(_ role: Role, _ day: Date) -> String { "\(Timestamp(day).basic)-\(role.rawValue)" }

    // MARK: What the bucket's listing means

    /// Takes out what is gone, in its time or not.
    ///
    /// - Parameter present: names of what is there.
    package mutating func compare(with present: Set<String>, now: Date) -> [FailedCanary] {
        var findings: [FailedCanary] = []
        adopt(present)
        let gone = canaries.filter { !present.contains($0.name) }
        for canary in gone {
            switch canary.role {
            case .delete where isOver(canary, now): lastExpiry = now
            // Not renewed in time, because this did not run.
            case .keep where isOver(canary, now): break
            case .delete, .keep: findings.append(early(canary, now))
            }
        }
        canaries = canaries.filter { canary in
            !gone.contains(canary) && (formerExpire || !canary.isFormer || !isOver(canary, now))
        }
        for canary in canaries where state(canary, now) == .late {
            findings.append(
                FailedCanary(
                    failure: .late,
                    text:
                        "\(canary.name) is still there, \(TimeSpan.text(now.timeIntervalSince(expiration(canary)))) "
                        + "after its expiration"))
        }
        return findings
    }

    /// Takes in those to be deleted that the ledger does not know, because it was lost or a run was killed before it wrote
    /// it: one that stays for ever would go unseen.
    private mutating func adopt(_ present: Set<String>) {
        for name in present.subtracting(canaries.map(\.name)).sorted() {
            guard let day = Timestamp(basic: String(name.prefix(16)))?.date, name == Self.name(.delete, day) else {
                continue
            }
            // Some time on that day: they all expire together.
            canaries.append(Canary(role: .delete, day: day, written: day))
        }
    }

    private func early(_ canary: Canary, _ now: Date) -> FailedCanary {
        let left = TimeSpan.text(expiration(canary).timeIntervalSince(now))
        return FailedCanary(
            failure: canary.renewed == nil ? .early : .lost,
            text: "\(canary.name) is gone, \(left) before its expiration"
                + (canary.renewed == nil ? "" : ", though it was renewed"))
    }

    package func state(_ canary: Canary, _ now: Date) -> State {
        let end = expiration(canary)
        if now < end { return .waiting }
        return now > end.addingTimeInterval(grace / .seconds(1)) ? .late : .expired
    }

    package func expiration(_ canary: Canary) -> Date {
        clock.expiration(of: canary.renewed ?? canary.written, days: days)
    }

    /// By more than clocks may differ.
    private func isOver(_ canary: Canary, _ now: Date) -> Bool {
        now
            >= clock.earliestExpiration(of: canary.renewed ?? canary.written, days: days)
            .addingTimeInterval(-min(clock.day / 20, 900))
    }

    // MARK: What is to be done

    /// Those to be renewed: halfway through their days, as clients do. One that should be gone is left to go.
    package func renewals(_ now: Date) -> [Canary] {
        canaries.filter { canary in
            guard canary.role == .keep, !isOver(canary, now), formerExpire || !canary.isFormer else { return false }
            return clock.renewal(of: canary.renewed ?? canary.written, days: days) <= now
        }
    }

    /// Those that should have outlived their siblings: to be read, and then left to expire.
    package func survivors(_ now: Date) -> [Canary] {
        canaries.filter { canary in
            canary.role == .keep && canary.renewed != nil && (formerExpire || !canary.isFormer)
                && now >= clock.expiration(of: canary.written, days: days)
                && !canaries.contains {
                    $0.role == .delete && $0.day == canary.day && $0.isFormer == canary.isFormer
                }
        }
    }

    /// Today's that are not made yet.
    package func missing(_ now: Date) -> [Role] {
        let today = clock.startOfDay(now)
        return Role.allCases.filter { role in !canaries.contains { $0.role == role && $0.day == today && !$0.isFormer }
        }
    }

    // MARK: What came of it

    package mutating func made(_ role: Role, now: Date, written: Date) {
        let canary = Canary(role: role, day: clock.startOfDay(now), written: written)
        canaries.removeAll { $0.name == canary.name }
        canaries.append(canary)
    }

    /// - Returns: what is wrong if its date did not move.
    package mutating func renewed(_ canary: Canary, written: Date) -> FailedCanary? {
        guard written > canary.renewed ?? canary.written else {
            return FailedCanary(
                failure: .renewal,
                text: "\(canary.name) was renewed, but its LastModified is the same")
        }
        if let index = canaries.firstIndex(of: canary) { canaries[index].renewed = written }
        return nil
    }

    /// It has proven what it was for.
    package mutating func survived(_ canary: Canary, now: Date) {
        lastSurvival = now
        canaries.removeAll { $0 == canary }
    }

    /// It is no use any more.
    package mutating func drop(_ canary: Canary) { canaries.removeAll { $0 == canary } }
}

import CloakroomServer

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The proof that a renewal lets an object's life start anew: some objects are renewed, others are not, and in the end
/// the others are gone.
///
/// A value that says what is to be done next, and is told what came of it. All that is known is in it, so that a run
/// goes on after any end. S3 expires at midnight and removes when it gets to it: slowness counts as a failure only
/// after the grace that the plan states, and objects to be renewed are renewed again and again until the others go.
package struct LifecycleValidation: Sendable, Equatable {
    package struct Plan: Sendable, Equatable {
        /// Names the run, and its objects.
        package var id: String
        package var bucket: String
        /// Whether the bucket was made for this and goes with it.
        package var ownsBucket: Bool
        /// Which store's bucket it is; `nil` in states of earlier versions.
        package var location: BucketLocation?
        /// The days of the rule; 0 until the bucket's rules are read.
        package var days: Int
        /// The days of the command line, whatever the bucket's own rule has; `nil` in states of earlier versions.
        package var requestedDays: Int?
        package var clock: ExpirationClock
        /// How long after their expiration objects may still be there.
        package var grace: Duration
        /// How many objects are renewed, and as many are not.
        package var pairs: Int
        package var started: Date

        package init(
            id: String, bucket: String, ownsBucket: Bool, location: BucketLocation? = nil, days: Int,
            clock: ExpirationClock, grace: Duration, pairs: Int, started: Date
        ) {
            self.id = id
            self.bucket = bucket
            self.ownsBucket = ownsBucket
            self.location = location
            self.days = days
            requestedDays = days
            self.clock = clock
            self.grace = grace
            self.pairs = pairs
            self.started = started
        }

        package var prefix: String { "\(ReservedKeys.validationStart)\(id)/" }
    }

    package struct Object: Sendable, Equatable {
        package enum Role: String, Sendable { case control, renewed }

        package struct Renewal: Sendable, Equatable {
            package let from: Date
            package let to: Date
        }

        package let key: String
        package let role: Role
        /// LastModified after the upload; `nil` before it.
        package var written: Date?
        /// What the store said then of its expiration.
        package var toldExpiration: Date?
        package var renewals: [Renewal] = []
        /// What the store said after the latest renewal.
        package var toldRenewedExpiration: Date?
        package var lastSeen: Date?
        /// When S3 first said that it is gone.
        package var missed: Date?
        /// What else went wrong with it, in words.
        package var problem: String?

        package var lastWritten: Date? { renewals.last?.to ?? written }
    }

    package enum Step: Sendable, Equatable {
        /// Make the bucket, put the rule.
        case prepare
        case upload(Int)
        case renew(Int)
        /// Look after every object that is not known to be gone.
        case look
        case wait(until: Date, for: String)
        /// Tell, and tidy up.
        case finish(Verdict)
    }

    package enum Verdict: String, Sendable {
        case proven
        case failed
        /// No renewal came in time: neither proves anything.
        case inconclusive
    }

    package var plan: Plan
    /// In words, which rule applies; `nil` until it does.
    package var rule: String?
    package var objects: [Object]
    package var lastLook: Date?

    package init(_ plan: Plan) {
        self.plan = plan
        objects = [Object.Role.control, .renewed].flatMap { role in
            (1...plan.pairs).map { Object(key: "\(plan.prefix)\(role.rawValue)-\($0)", role: role) }
        }
    }

    /// What an object holds.
    package func content(_ index: Int) -> [UInt8] { Array("\(objects[index].key), run \(plan.id)\n".utf8) }

    // MARK: What is to be done

    package func next(_ now: Date) -> Step {
        if rule == nil { return .prepare }
        if let index = objects.firstIndex(where: { $0.written == nil }) { return .upload(index) }
        if let verdict = verdict(now) { return .finish(verdict) }
        if let index = objects.indices.first(where: { renewalDue(objects[$0]).map { $0 <= now } ?? false }) {
            return .renew(index)
        }
        if lookDue(now) { return .look }
        return wait(now)
    }

    /// When S3's rule takes it; `nil` before it is written.
    package func expiration(_ object: Object) -> Date? {
        expiration(
            of: object.lastWritten, told: object.renewals.isEmpty ? object.toldExpiration : object.toldRenewedExpiration
        )
    }

    /// When the rule would have taken it without a renewal.
    package func firstExpiration(_ object: Object) -> Date? {
        expiration(of: object.written, told: object.toldExpiration)
    }

    /// - Parameter told: trusted only where it agrees with the days of the plan.
    private func expiration(of written: Date?, told: Date?) -> Date? {
        guard let written else { return nil }
        if let told, plan.clock.agrees(told, written: written, days: plan.days) { return told }
        return plan.clock.expiration(of: written, days: plan.days)
    }

    /// When the controls are all to be gone.
    package var controlsExpire: Date? { controls.compactMap { firstExpiration($0) }.max() }

    package var controls: [Object] { objects.filter { $0.role == .control } }
    package var renewed: [Object] { objects.filter { $0.role == .renewed } }

    /// A day's renewal comes shortly after midnight: late enough that clocks need not agree, and the new expiration is
    /// another one.
    package var margin: Double { min(plan.clock.day / 20, 3600) }

    /// Halfway through the days, as clients do; at least a day later.
    private func renewalDue(_ object: Object) -> Date? {
        guard object.role == .renewed, object.missed == nil, let written = object.lastWritten else { return nil }
        return plan.clock.renewal(of: written, days: plan.days).addingTimeInterval(margin)
    }

    private var controlsAreGone: Bool { controls.allSatisfy { $0.missed != nil } }

    /// Twenty-four times a day, at most once a second.
    private var lookInterval: Double { max(1, plan.clock.day / 24) }

    private func lookDue(_ now: Date) -> Bool {
        lastLook.map { now.timeIntervalSince($0) >= lookInterval } ?? true
    }

    private func wait(_ now: Date) -> Step {
        let look = (lastLook ?? now).addingTimeInterval(lookInterval)
        let renewal = objects.compactMap { renewalDue($0) }.min()
        let until = min(look, renewal ?? look)
        guard let end = controlsExpire else { return .wait(until: until, for: "the first look") }
        let what =
            now < end
            ? "the expiration of what is not renewed" : "S3 to remove what has expired; it may take its time"
        return .wait(until: until, for: what)
    }

    // MARK: What came of it

    package mutating func prepared(rule: String, days: Int) {
        self.rule = rule
        plan.days = days
    }

    package mutating func uploaded(_ index: Int, written: Date, toldExpiration: Date?) {
        objects[index].written = written
        objects[index].toldExpiration = toldExpiration
        objects[index].lastSeen = written
    }

    package mutating func renewed(_ index: Int, at now: Date, written: Date, toldExpiration: Date?) {
        guard let from = objects[index].lastWritten else { return }
        objects[index].lastSeen = now
        guard written > from else {
            objects[index].problem = "LastModified did not move by the renewal"
            return
        }
        objects[index].renewals.append(.init(from: from, to: written))
        objects[index].toldRenewedExpiration = toldExpiration
    }

    package mutating func saw(_ index: Int, at now: Date, isIntact: Bool) {
        objects[index].lastSeen = now
        if !isIntact { objects[index].problem = "its bytes are no longer those that were uploaded" }
    }

    package mutating func missed(_ index: Int, at now: Date) { objects[index].missed = now }

    package mutating func recordProblem(_ index: Int, _ text: String) { objects[index].problem = text }

    package mutating func looked(at now: Date) { lastLook = now }

    // MARK: What it means

    /// `nil` while it is open.
    package func verdict(_ now: Date) -> Verdict? {
        if objects.contains(where: { $0.problem != nil || isEarly($0) }) { return .failed }
        if renewed.contains(where: { $0.missed != nil || cameLate($0) }) { return .inconclusive }
        if survivors != nil { return .proven }
        guard let end = controlsExpire, let lastLook, !controlsAreGone else { return nil }
        // A look is what tells, not the clock alone.
        return lastLook > end.addingTimeInterval(plan.grace / .seconds(1)) ? .failed : nil
    }

    /// Renewed for the first time when it had expired already: that it was still there is S3's slowness, and no proof.
    func cameLate(_ object: Object) -> Bool {
        guard let first = object.renewals.first, let end = firstExpiration(object) else { return false }
        return first.to >= end
    }

    /// When all renewed objects had been seen: all others gone, and all that was uploaded past its first expiration.
    var survivors: Date? {
        guard controlsAreGone, let gone = controls.compactMap(\.missed).max(),
            let seen = renewed.compactMap(\.lastSeen).min(),
            let end = objects.compactMap({ firstExpiration($0) }).max(),
            seen >= gone, seen >= end
        else { return nil }
        return seen
    }

    /// Gone before S3's rule may have taken it, by more than clocks may differ.
    package func isEarly(_ object: Object) -> Bool {
        guard let missed = object.missed, let written = object.lastWritten, let told = expiration(object) else {
            return false
        }
        let end = min(told, plan.clock.earliestExpiration(of: written, days: plan.days))
        return missed < end.addingTimeInterval(-min(margin, 900))
    }
}

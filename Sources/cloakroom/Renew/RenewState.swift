import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer
import CloakroomJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How far a run of `cloakroom renew` is, in a file that outlasts the process.
@LoopActor
final class RenewState {
    private let file: StateFile
    private let source: RenewSource
    /// Made once: that of a list takes a digest of its file.
    private let name: String
    private let location: BucketLocation
    /// The digest of ``RenewRule``.
    private let rule: String
    /// When the pass over the keys began that this is the state of.
    private(set) var started: Date
    /// As it was when this process began.
    let firstStarted: Date
    /// What the source goes on from; `nil` for its beginning.
    let position: String?
    /// Why the run begins anew although there is a state; `nil` where it does not.
    let restart: String?
    let totals: RenewalRun.Totals
    /// Whether the source had anything, however young, that is not left alone.
    private(set) var hasFound: Bool

    init(
        path: String, source: RenewSource, location: BucketLocation, rule: String, now: Date = Date()
    ) throws(StateFile.FileError) {
        file = try StateFile(path: path)
        self.source = source
        let name = source.name
        self.name = name
        self.location = location
        self.rule = rule
        guard let state = try file.read() else {
            (started, firstStarted, position, restart) = (now, now, nil, nil)
            (totals, hasFound) = (RenewalRun.Totals(), false)
            return
        }
        guard let object = state.object, object["version"]?.integer == 1, object["source"]?.string == name,
            object["bucket"]?.string == location.bucket,
            object["endpoint"].map({ $0.string == location.endpoint }) ?? true,
            object["region"].map({ $0.string == location.region }) ?? true, let position = object["position"]?.string,
            let renewed = object["renewed"]?.integer, let gone = object["gone"]?.integer,
            let refused = object["refused"]?.integer, let skipped = object["skipped"]?.integer
        else {
            throw StateFile.FileError(
                description: "\(path) belongs to a run with other keys, or of another store;"
                    + " delete it, or name another with --state")
        }
        let began = object["started"]?.string.flatMap { Timestamp(iso8601: $0)?.date }
        let namesStore = object["endpoint"] != nil && object["region"] != nil
        restart =
            Self.restart(began, source, now) ?? (namesStore ? nil : "does not say of which store it is")
            ?? (object["rule"]?.string == rule ? nil : "is of a run that left other keys alone")
        guard restart == nil else {
            (started, firstStarted, self.position) = (now, now, nil)
            (totals, hasFound) = (RenewalRun.Totals(), false)
            return
        }
        (started, firstStarted) = (began ?? now, began ?? now)
        self.position = position
        hasFound = object["found"]?.bool ?? false
        var totals = RenewalRun.Totals()
        (totals.renewed, totals.gone, totals.refused, totals.skipped) = (renewed, gone, refused, skipped)
        self.totals = totals
    }

    private static func restart(_ started: Date?, _ source: RenewSource, _ now: Date) -> String? {
        guard let started else { return "does not say when it was started" }
        guard started <= now else { return "was started at \(started.wireText), later than now" }
        guard now.timeIntervalSince(started) > source.maximumStateAge / .seconds(1) else { return nil }
        return "was started at \(started.wireText): \(source.staleness)"
    }

    /// Takes effect with the next ``keep(_:_:)``.
    func found() { hasFound = true }

    /// - Returns: whether the disk has it.
    func keep(_ position: String, _ totals: RenewalRun.Totals) -> Bool {
        let state: JSON = [
            "version": .number(1), "source": .string(name), "bucket": .string(location.bucket),
            "endpoint": .string(location.endpoint), "region": .string(location.region), "position": .string(position),
            "started": .string(started.wireText), "rule": .string(rule), "found": .bool(hasFound),
            "renewed": .number(Double(totals.renewed)), "gone": .number(Double(totals.gone)),
            "refused": .number(Double(totals.refused)), "skipped": .number(Double(totals.skipped)),
        ]
        do throws(StateFile.FileError) {
            try file.write(state)
            return true
        } catch {
            return false
        }
    }

    /// At the end of a pass: whether another has to follow, since objects that this one passed over may have become old
    /// enough.
    ///
    /// One that began later than the age after the first has met all that was written before that, and nothing else is
    /// listed again: the passes come to an end, however long each takes.
    func needsAnotherPass(now: Date = Date()) -> Bool {
        guard case .older(let age, _) = source else { return false }
        return now.timeIntervalSince(started) > source.maximumStateAge / .seconds(1)
            && started.timeIntervalSince(firstStarted) < age / .seconds(1)
    }

    /// Begins another pass; it is for what was written before the first, so as not to meet what that renewed.
    ///
    /// - Returns: whether the disk has it.
    func beginPass(_ totals: RenewalRun.Totals, now: Date = Date()) -> Bool {
        started = now
        return keep("", totals)
    }

    func remove() { file.remove() }
}

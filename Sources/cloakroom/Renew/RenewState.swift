import CloakroomAWS
import CloakroomLoop
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
    private let source: String
    private let location: BucketLocation
    /// When the run began that this is the state of.
    let started: Date
    /// What the source goes on from; `nil` for its beginning.
    let position: String?
    /// Why the run begins anew although there is a state; `nil` where it does not.
    let restart: String?
    let totals: RenewalRun.Totals

    init(
        path: String, source: RenewSource, location: BucketLocation, now: Date = Date()
    ) throws(StateFile.FileError) {
        file = try StateFile(path: path)
        self.source = source.name
        self.location = location
        guard let state = try file.read() else {
            (started, position, restart) = (now, nil, nil)
            totals = RenewalRun.Totals()
            return
        }
        guard let object = state.object, object["version"]?.integer == 1, object["source"]?.string == source.name,
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
        restart = Self.restart(began, source, now) ?? (namesStore ? nil : "does not say of which store it is")
        guard restart == nil else {
            (started, self.position) = (now, nil)
            totals = RenewalRun.Totals()
            return
        }
        started = began ?? now
        self.position = position
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

    /// - Returns: whether the disk has it.
    func keep(_ position: String, _ totals: RenewalRun.Totals) -> Bool {
        let state: JSON = [
            "version": .number(1), "source": .string(source), "bucket": .string(location.bucket),
            "endpoint": .string(location.endpoint), "region": .string(location.region), "position": .string(position),
            "started": .string(started.wireText),
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

    func remove() { file.remove() }
}

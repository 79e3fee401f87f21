import Loop
import Service
import StrictJSON

/// How far a run of `cloakroom renew` is, in a file that outlasts the process.
@LoopActor
final class RenewState {
    private let file: StateFile
    private let source: String
    private let bucket: String
    /// What the source goes on from; `nil` for its beginning.
    let position: String?
    let totals: RenewalRun.Totals

    init(path: String, source: RenewSource, bucket: String) throws(StateFile.Failure) {
        file = try StateFile(path: path)
        self.source = source.name
        self.bucket = bucket
        guard let state = try file.read() else {
            position = nil
            totals = RenewalRun.Totals()
            return
        }
        guard let object = state.object, object["version"]?.integer == 1, object["source"]?.string == source.name,
            object["bucket"]?.string == bucket, let position = object["position"]?.string,
            let renewed = object["renewed"]?.integer, let gone = object["gone"]?.integer,
            let refused = object["refused"]?.integer, let skipped = object["skipped"]?.integer
        else {
            throw StateFile.Failure(
                description: "\(path) belongs to a run with other keys; delete it, or name another with --state")
        }
        self.position = position
        var totals = RenewalRun.Totals()
        (totals.renewed, totals.gone, totals.refused, totals.skipped) = (renewed, gone, refused, skipped)
        self.totals = totals
    }

    /// - Returns: whether the disk has it.
    func keep(_ position: String, _ totals: RenewalRun.Totals) -> Bool {
        let state: JSON = [
            "version": .number(1), "source": .string(source), "bucket": .string(bucket), "position": .string(position),
            "renewed": .number(Double(totals.renewed)), "gone": .number(Double(totals.gone)),
            "refused": .number(Double(totals.refused)), "skipped": .number(Double(totals.skipped)),
        ]
        do throws(StateFile.Failure) {
            try file.write(state)
            return true
        } catch {
            return false
        }
    }

    func remove() { file.remove() }
}

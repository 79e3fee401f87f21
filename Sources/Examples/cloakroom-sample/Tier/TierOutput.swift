import CloakroomKit
import CloakroomTiers
import Foundation

/// How results look: sizes, failures with a way out, and the end of a run.
enum TierOutput {
    /// Such as `33.1 MB`, in steps of 1,000.
    static func size(_ bytes: Int64) -> String {
        var value = Double(bytes)
        var unit = 0
        let units = ["bytes", "kB", "MB", "GB", "TB"]
        while value >= 1000, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return unit == 0 ? "\(bytes) bytes" : String(format: "%.1f %@", value, units[unit])
    }

    static func printError(_ error: CloakroomError, _ subject: String? = nil) {
        let subject = subject.map { "\($0): " } ?? ""
        Console.printError("\(subject)\(error)" + (advice(error).map { "; \($0)" } ?? ""))
    }

    /// What is to be done about a failure; `nil` where its message says it, or where nothing can be.
    private static func advice(_ error: CloakroomError) -> String? {
        switch error.code {
        case .unauthorized, .sessionRevoked, .tokenUnavailable: "sign in again: cloakroom-sample sign-in --help"
        case .accessDenied, .forbidden: "the worker's vending.prefixes must have photos, thumbnails and catalogs"
        case .photoDamaged, .photoCollision: "the photo stays on the device; export it, and add it again"
        case .photoMissing: "another device may have it: run the command there"
        case .nameTaken: "add it under another name"
        case .noSuchPhoto: "cloakroom-sample tier list shows what there is"
        case .diskFull: "make room, then run the command again: it continues"
        case .storeInUse: "wait until the other command has ended"
        case .accountChanged: "sign in as before, or use another --state"
        case .alarmRaised: "see cloakroom-sample tier usage; then tier run --dismiss KIND"
        case .clockWentBack: "set the clock right; until it shows a later time, photos stay"
        default: error.isRetryable ? "run the command again: it continues" : nil
        }
    }

    /// - Returns: the exit status.
    static func printEnd(of report: TieringReport, _ summary: String) -> Int32 {
        for failure in report.failures { printError(failure.error, "photo \(failure.photo.rawValue)") }
        printAlarms(report.alarms)
        if let error = report.stoppedBy { printError(error, "ended early") }
        Console.print(summary)
        return report.failures.isEmpty && report.alarms.isEmpty && report.stoppedBy == nil ? 0 : 1
    }

    static func printAlarms(_ alarms: [TierAlarm]) {
        for alarm in alarms {
            let example = alarm.example.isEmpty ? "" : ", such as \(alarm.example)"
            let count = alarm.photoCount == 0 ? "" : ", \(alarm.photoCount) photos\(example)"
            Console.printError(
                "alarm \(alarm.kind.rawValue) since \(alarm.since.formatted(.iso8601))\(count): \(meaning(alarm.kind)); "
                    + ending(of: alarm.kind))
        }
    }

    /// What ends an alarm: one that means another account ends when its own is signed in.
    private static func ending(of kind: TierAlarm.Kind) -> String {
        switch kind {
        case .accountChanged: "sign in as before, or use another --state"
        case .missing, .expiring, .archived, .changed, .dismissed: "then tier run --dismiss \(kind.rawValue)"
        }
    }

    private static func meaning(_ kind: TierAlarm.Kind) -> String {
        switch kind {
        case .missing: "S3 does not have them any more; find out who deleted them"
        case .expiring: "a rule of the bucket is going to delete them; remove the rule"
        case .archived: "a rule of the bucket moved them to an archive; restore them there, and remove the rule"
        case .changed: "S3 has other bytes than were proven; find out who wrote them"
        case .accountChanged: "another account is signed in than the one whose photos these are"
        case .dismissed: "another device has given this one up; its photos are uploaded anew"
        }
    }
}

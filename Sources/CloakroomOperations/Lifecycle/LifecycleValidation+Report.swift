import CloakroomWire
package import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What a validation showed, for people and for programs.
extension LifecycleValidation {
    package func report(_ now: Date) -> JSON {
        let checks = checks(now).map { check -> JSON in
            [
                "check": .string(check.title), "result": .string(check.result.rawValue),
                "detail": .string(check.detail),
            ]
        }
        return [
            "id": .string(plan.id), "bucket": .string(plan.bucket),
            "verdict": .string(verdict(now)?.rawValue ?? "open"), "days": .number(Double(plan.days)),
            "daySeconds": .number(plan.clock.day), "graceSeconds": .number(plan.grace / .seconds(1)),
            "started": .string(plan.started.wireText), "told": .string(now.wireText), "checks": .array(checks),
            "objects": .array(objects.map { report($0) }),
        ]
    }

    private func report(_ object: Object) -> JSON {
        [
            "key": .string(object.key), "role": .string(object.role.rawValue), "written": .wire(object.written),
            "firstExpiration": .wire(firstExpiration(object)),
            "renewals": .array(object.renewals.map { ["from": .wire($0.from), "to": .wire($0.to)] }),
            "expiration": .wire(expiration(object)), "lastSeen": .wire(object.lastSeen),
            "missed": .wire(object.missed), "trouble": object.problem.map(JSON.string) ?? .null,
        ]
    }

    package func markdown(_ now: Date) -> String {
        var lines = [
            "# Does a renewal let an object's life start anew?", "",
            "\(sentence(verdict(now))) Run \(plan.id) on the bucket `\(plan.bucket)`, begun \(plan.started.wireText), told "
                + "\(now.wireText).", "",
            "Objects expire \(LifecycleDescription.count(plan.days)) after they were last written, at the next midnight"
                + (plan.clock.day == 86_400
                    ? " in UTC" : ", of days that last \(TimeSpan.text(plan.clock.day))")
                + "; up to \(TimeSpan.text(plan.grace / .seconds(1))) after that count as S3 taking its time.",
            "",
            "| | What was to be shown | |", "| --- | --- | --- |",
        ]
        lines += checks(now).map { "| \($0.result.rawValue) | \($0.title) | \($0.detail) |" }
        lines += [
            "", "| Object | Written | First expiration | Renewed | Expiration | Last seen | Gone |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        lines += objects.map { object in
            let cells: [String?] = [
                "`\(object.key.dropFirst(plan.prefix.count))`", object.written?.wireText,
                firstExpiration(object)?.wireText,
                object.renewals.isEmpty ? nil : object.renewals.map(\.to.wireText).joined(separator: ", "),
                expiration(object)?.wireText, object.lastSeen?.wireText, object.missed?.wireText,
            ]
            return "| " + cells.map { $0 ?? "" }.joined(separator: " | ") + " |"
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func sentence(_ verdict: Verdict?) -> String {
        switch verdict {
        case .proven: "**Proven.** Renewed objects lived on past their first expiration, the others did not."
        case .failed: "**Failed.** It was not as it should be; the table tells what."
        case .inconclusive: "**Inconclusive.** The command did not run when a renewal was due; begin anew."
        case nil: "**Open.** Not all has been seen yet."
        }
    }
}

extension JSON {
    /// As in responses to apps; `null` for none.
    static func wire(_ date: Date?) -> JSON { date.map { .string($0.wireText) } ?? .null }
}

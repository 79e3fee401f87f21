package import CloakroomAWS

/// A bucket's lifecycle in plain words.
package enum LifecycleDescription {
    /// `every object`, or which.
    package static func objects(_ filter: LifecycleRule.Filter) -> String {
        if filter.isEverything { return "every object" }
        var conditions: [String] = []
        if !filter.prefix.isEmpty { conditions.append("under \(filter.prefix)") }
        for tag in filter.tags { conditions.append("tagged \(tag.key)=\(tag.value)") }
        if let size = filter.sizeGreaterThan { conditions.append("of more than \(size) bytes") }
        if let size = filter.sizeLessThan { conditions.append("of less than \(size) bytes") }
        conditions += filter.unknown.map { "of a condition \($0) that this version does not know" }
        return "objects " + conditions.joined(separator: " and ")
    }

    /// One line: name, objects, what happens.
    package static func rule(_ rule: LifecycleRule) -> String {
        let state = rule.isEnabled ? "" : " (disabled)"
        let acts = actions(rule)
        return "\(rule.name)\(state), for \(objects(rule.filter)): "
            + (acts.isEmpty ? "nothing" : acts.joined(separator: "; "))
    }

    private static func actions(_ rule: LifecycleRule) -> [String] {
        var actions: [String] = []
        switch rule.expiration {
        case .days(let days): actions.append("expires \(count(days)) after it was last written")
        case .date(let date): actions.append("expires on \(date), whenever it was written")
        case .deleteMarkers: actions.append("delete markers go that hide nothing")
        case nil: break
        }
        for transition in rule.transitions {
            let which = transition.isOfNoncurrent ? "older versions move" : "moves"
            let when = transition.days.map { "after \(count($0))" } ?? "at a date"
            actions.append("\(which) to \(transition.storageClass) \(when)")
        }
        if let noncurrent = rule.noncurrentExpiration {
            let kept = noncurrent.newerVersions.map { ", but for the \($0) newest" } ?? ""
            actions.append("older versions go after \(count(noncurrent.days))\(kept)")
        }
        if let days = rule.abortMultipartDays { actions.append("unfinished multipart uploads go after \(count(days))") }
        return actions + rule.unknown.map { "something this version does not understand: \($0)" }
    }

    /// What becomes of an object that is not renewed, and of one that is.
    ///
    /// - Parameter now: when that object is written, for an example.
    package static func story(
        _ configuration: LifecycleConfiguration, _ versioning: BucketVersioning, _ terms: LifecycleTerms,
        now: Timestamp
    ) -> [String] {
        let whole = configuration.rules.filter { $0.isEnabled && !terms.covered(by: $0.filter).isEmpty }
        let days = whole.compactMap(\.expirationDays).min()
        guard days != nil || terms.retentionDays == nil else {
            return ["An object that is not deleted stays for ever: no enabled rule expires \(terms.objects)."]
        }
        let noncurrent = whole.compactMap(\.noncurrentExpiration).filter { $0.newerVersions == nil }.map(\.days).min()
        var lines: [String]
        if let days {
            lines = expiring(days, noncurrent, versioning, now)
        } else {
            lines = [
                "An object that is not deleted stays for ever, as renewal.retentionDays: null says: no enabled rule expires"
                    + " \(terms.objects)."
            ]
            if versioning != .never {
                lines.append(
                    "The bucket keeps versions: those that a deletion or a renewal leaves behind "
                        + (noncurrent.map { "go \(count($0)) later." } ?? "stay for ever."))
            }
        }
        if days != nil, terms.prefixes != [""] { lines.insert("This is for \(terms.objects).", at: 1) }
        if let chat = terms.chat {
            let released =
                chat.isTagged
                ? "one that is released within two days, after a tag of its own" : "one that is released at once"
            lines.append(
                "Images of chats (\(chat.prefix)) go \(count(chat.retentionDays)) after they were uploaded, and \(released)."
            )
        }
        lines += terms.formerChats(in: configuration).map {
            "Images of chats behind the earlier prefix \($0) go by the rules that they had."
        }
        let everywhere = configuration.rules.filter { $0.isEnabled && $0.filter.isEverything }
        lines.append(
            (whole + everywhere).compactMap(\.abortMultipartDays).min().map {
                "Parts of an upload that is never completed go after \(count($0))."
            } ?? "Parts of an upload that is never completed stay for ever.")
        return lines
    }

    private static func expiring(
        _ days: Int, _ noncurrent: Int?, _ versioning: BucketVersioning, _ now: Timestamp
    ) -> [String] {
        let lines = [
            "An object written or renewed now, \(now.spoken), expires at "
                + "\(Timestamp(ExpirationClock().expiration(of: now.date, days: days)).spoken): \(count(days)) later, at the "
                + "next midnight in UTC. S3 removes it within hours or a few days of that, and does not bill it any more.",
            "A renewal before then starts the \(count(days)) anew.",
        ]
        guard versioning != .never else { return lines }
        return lines + [
            noncurrent.map {
                "The bucket keeps versions: the expired object is hidden by a delete marker, and so are versions "
                    + "that a renewal leaves behind; their bytes go \(count($0)) later."
            } ?? "The bucket keeps versions: the expired object is only hidden, and its bytes stay for ever."
        ]
    }

    static func count(_ days: Int) -> String { days == 1 ? "1 day" : "\(days) days" }
}

extension Timestamp {
    /// `2026-11-22 10:30 UTC`
    var spoken: String {
        let digits = basic
        func part(_ start: Int, _ length: Int) -> Substring { digits.dropFirst(start).prefix(length) }
        return "\(part(0, 4))-\(part(4, 2))-\(part(6, 2)) \(part(9, 2)):\(part(11, 2)) UTC"
    }
}

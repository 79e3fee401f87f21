package import CloakroomAWS

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What other lifecycle rules change for what is in a bucket now: a rule reaches back to all objects that it matches.
///
/// Where it is not certain that a rule matches (tags are in no listing), the count errs towards a change.
/// Source: S3 User Guide, "Setting lifecycle configuration on a bucket": "takes effect on existing objects".
package struct ExpirationCount: Sendable {
    package struct Tally: Sendable, Equatable {
        package private(set) var count = 0
        package private(set) var bytes = 0
        /// The one that was written first.
        package private(set) var oldest: (key: String, written: Date)?
        /// When the first of them expires; `nil` where that is not counted.
        package private(set) var firstEnd: Date?

        mutating func add(_ key: String, _ size: Int, _ written: Date, end: Date? = nil) {
            count += 1
            if let end { firstEnd = min(end, firstEnd ?? end) }
            bytes = bytes.addingReportingOverflow(size).overflow ? .max : bytes + size
            if oldest.map({ written < $0.written }) ?? true { oldest = (key, written) }
        }

        package static func == (left: Tally, right: Tally) -> Bool {
            left.count == right.count && left.bytes == right.bytes && left.oldest?.key == right.oldest?.key
                && left.oldest?.written == right.oldest?.written && left.firstEnd == right.firstEnd
        }
    }

    package struct Changes: Sendable, Equatable {
        /// Newly, and within a day.
        package var atOnce = Tally()
        /// Newly or earlier than by the former rules.
        package var later = Tally()
        /// The same by the prefix of the rule that lets them expire first.
        package var laterByPrefix: [String: Tally] = [:]
        /// Of those at once and later: the ones that are no assets, under a rule for names in the bucket itself.
        package var others = Tally()
        /// No longer.
        package var ceasing = Tally()
    }

    package private(set) var objects = Changes()
    package private(set) var versions = Changes()
    /// What a listing tells no readable size or time of: what becomes of it, no rule says.
    package private(set) var unreadable: (count: Int, example: String?) = (0, nil)
    package private(set) var seen = 0
    private let former: [Rule]
    private let target: [Rule]
    private let now: Date
    private let clock: ExpirationClock
    private let others: OtherObjects?
    /// The version before, in the order of the listing: it made the next one noncurrent.
    private var newer: (key: String, written: Date)?

    /// - Parameter others: which objects are no assets; `nil` counts none as such.
    package init(
        from former: LifecycleConfiguration, to target: LifecycleConfiguration, now: Date,
        clock: ExpirationClock = ExpirationClock(), others: OtherObjects? = nil
    ) {
        // What was released is to go: that is no news to anyone.
        self.former = former.rules.filter { $0.isEnabled && !$0.filter.isOfReleased }.map(Rule.init)
        self.target = target.rules.filter { $0.isEnabled && !$0.filter.isOfReleased }.map(Rule.init)
        self.now = now
        self.clock = clock
        self.others = others
    }

    /// Read once, not for each object.
    private struct Rule: Sendable {
        let filter: LifecycleRule.Filter
        let expiration: LifecycleRule.Expiration?
        let noncurrent: LifecycleRule.NoncurrentExpiration?
        /// Whether its conditions are all in a listing.
        let isCertain: Bool

        init(_ rule: LifecycleRule) {
            filter = rule.filter
            expiration = rule.expiration
            noncurrent = rule.noncurrentExpiration
            isCertain = filter.tags.isEmpty && filter.unknown.isEmpty
        }
    }

    /// The prefixes whose objects may be concerned, none within another.
    package static func prefixes(of plan: LifecyclePlan) -> [String] {
        let changed = plan.changes.compactMap { change -> LifecycleRule? in
            switch change {
            case .added(let rule), .removed(let rule): rule
            case .kept: nil
            }
        }
        let prefixes = Set(changed.filter { $0.deletes && !$0.filter.isOfReleased }.map(\.filter.prefix))
        return prefixes.filter { prefix in !prefixes.contains { $0 != prefix && prefix.hasPrefix($0) } }.sorted()
    }

    package mutating func count(_ page: ObjectPage) {
        for entry in page.entries { object(entry.key, size: entry.size, written: entry.lastModified) }
    }

    /// - Precondition: all pages of a prefix come in their order.
    package mutating func count(_ page: VersionPage) {
        for entry in page.entries {
            version(
                entry.key, size: entry.size, written: entry.lastModified, isLatest: entry.isLatest,
                isDeleteMarker: entry.isDeleteMarker)
        }
    }

    /// - Parameters:
    ///   - size: `nil` where it cannot be read; S3 always tells it.
    ///   - written: likewise.
    package mutating func object(_ key: String, size: Int?, written: Date?) {
        seen += 1
        guard let size, let written else { return addUnreadable(key) }
        let ends = [former, target].map { end(of: key, size, in: $0, written: written) }
        objects.add(key, size, written, from: ends[0], to: ends[1], now: now, clock, others)
    }

    /// - Precondition: versions of a key come one after the other, the newest first.
    package mutating func version(_ key: String, size: Int?, written: Date?, isLatest: Bool, isDeleteMarker: Bool) {
        // Byte by byte: beyond ASCII, strings that are equal to Swift may be two keys.
        let since = newer.flatMap { $0.key.utf8.elementsEqual(key.utf8) ? $0.written : nil }
        newer = written.map { (key, $0) }
        guard !isLatest else {
            if !isDeleteMarker { object(key, size: size, written: written) }
            return
        }
        seen += 1
        guard let size, let written else { return addUnreadable(key) }
        let ends = [former, target].map { end(of: key, size, in: $0, noncurrentSince: since ?? written) }
        versions.add(key, size, written, from: ends[0], to: ends[1], now: now, clock, others)
    }

    private mutating func addUnreadable(_ key: String) {
        unreadable = (unreadable.count + 1, unreadable.example ?? key)
    }

    /// The first end by rules that certainly match, and by those that may, with the prefix of the one that gives it.
    typealias End = (certain: Date?, possible: Date?, prefix: String)

    private func end(of key: String, _ size: Int, in rules: [Rule], written: Date) -> End {
        first(rules, key, size) { rule in
            switch rule.expiration {
            case .days(let days): clock.expiration(of: written, days: days)
            case .date(let date): Timestamp(iso8601: date)?.date ?? now
            case .deleteMarkers, nil: nil
            }
        }
    }

    private func end(of key: String, _ size: Int, in rules: [Rule], noncurrentSince since: Date) -> End {
        first(rules, key, size) { rule in
            // Those that are kept by their number are not counted here: the count errs towards a removal.
            rule.noncurrent.map { clock.expiration(of: since, days: $0.days) }
        }
    }

    private func first(_ rules: [Rule], _ key: String, _ size: Int, _ end: (Rule) -> Date?) -> End {
        var ends: End = (nil, nil, "")
        for rule in rules {
            let filter = rule.filter
            guard key.utf8.starts(with: filter.prefix.utf8), size > filter.sizeGreaterThan ?? -1,
                size < filter.sizeLessThan ?? .max, let end = end(rule)
            else { continue }
            if ends.possible.map({ end < $0 }) ?? true { (ends.possible, ends.prefix) = (end, filter.prefix) }
            if rule.isCertain { ends.certain = min(end, ends.certain ?? end) }
        }
        return ends
    }
}

extension ExpirationCount.Changes {
    fileprivate mutating func add(
        _ key: String, _ size: Int, _ written: Date, from former: ExpirationCount.End, to target: ExpirationCount.End,
        now: Date, _ clock: ExpirationClock, _ others: OtherObjects?
    ) {
        if former.possible != nil, target.certain == nil { ceasing.add(key, size, written) }
        guard let end = target.possible, former.certain.map({ end < $0 }) ?? true else { return }
        let isSoon = end <= now.addingTimeInterval(clock.day)
        // What the former rules remove as soon is nothing new.
        if isSoon, let before = former.certain, before <= now.addingTimeInterval(clock.day) { return }
        if others?.contains(key, under: target.prefix) == true { self.others.add(key, size, written, end: end) }
        guard !isSoon else { return atOnce.add(key, size, written) }
        later.add(key, size, written)
        laterByPrefix[target.prefix, default: ExpirationCount.Tally()].add(key, size, written, end: end)
    }
}

extension LifecycleRule {
    /// Whether it removes objects or versions.
    fileprivate var deletes: Bool {
        switch expiration {
        case .days, .date: true
        case .deleteMarkers, nil: noncurrentExpiration != nil
        }
    }
}

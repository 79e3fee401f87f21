import CloakroomAWS
import Glibc
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Counts, by listing the bucket, what a plan of lifecycle rules would newly remove, and what it would keep.
@LoopActor
struct LifecycleCount {
    let s3: S3Client
    /// From the beginning of one request to that of the next.
    let interval: Duration

    /// - Parameter others: which objects are no assets; `nil` counts none as such.
    func count(
        _ plan: LifecyclePlan, _ found: BucketLifecycle, others: OtherObjects? = nil
    ) async throws(AWSError) -> ExpirationCount {
        var count = ExpirationCount(from: found.configuration, to: plan.target, now: Date(), others: others)
        let progress = ProgressLine(what: "objects counted")
        defer { progress.clear() }
        for prefix in ExpirationCount.prefixes(of: plan) {
            if found.versioning == .never {
                try await objects(prefix) { page in
                    count.count(page)
                    progress.update(count.seen)
                }
            } else {
                try await versions(prefix, &count, progress)
            }
        }
        return count
    }

    /// Lists what is in the bucket itself, and its folders.
    func root(_ matches: RootMatches) async throws(AWSError) -> RootMatches {
        var matches = matches
        let progress = ProgressLine(what: "objects and folders listed")
        defer { progress.clear() }
        try await objects("", delimiter: "/") { page in
            matches.add(page)
            progress.update(matches.seen)
        }
        return matches
    }

    /// - Returns: those of the folders that no key of the bucket begins with.
    func absent(_ folders: [String]) async throws(AWSError) -> [String] {
        var absent: [String] = []
        for folder in folders {
            let next = ContinuousClock.now + interval
            let page = try await s3.list(
                prefix: folder, delimiter: "/", from: .start, deadline: .now + .seconds(60))
            if page.entries.isEmpty, page.folders.isEmpty, page.continuation == nil { absent.append(folder) }
            try await wait(next)
        }
        return absent
    }

    private func objects(
        _ prefix: String, delimiter: String? = nil, _ body: (ObjectPage) -> Void
    ) async throws(AWSError) {
        var position = S3Client.ListPosition.start
        var progress = ListingProgress()
        while true {
            let next = ContinuousClock.now + interval
            let page = try await s3.list(
                prefix: prefix, delimiter: delimiter, from: position, deadline: .now + .seconds(60))
            body(page)
            guard progress.advances(page) else { throw AWSError(.refused, code: "SamePageAgain") }
            guard let continuation = page.continuation else { return }
            position = .continuation(continuation)
            try await wait(next)
        }
    }

    private func versions(
        _ prefix: String, _ count: inout ExpirationCount, _ progress: ProgressLine
    ) async throws(AWSError) {
        var position: VersionPage.Position?
        var listing = ListingProgress()
        while true {
            let next = ContinuousClock.now + interval
            let page = try await s3.versions(prefix: prefix, from: position, deadline: .now + .seconds(60))
            count.count(page)
            progress.update(count.seen)
            guard listing.advances(page) else { throw AWSError(.refused, code: "SamePageAgain") }
            guard let following = page.next else { return }
            position = following
            try await wait(next)
        }
    }

    private func wait(_ until: ContinuousClock.Instant) async throws(AWSError) {
        guard ContinuousClock.now < until else { return }
        do { try await LoopActor.sleep(for: until - .now) } catch { throw AWSError(.cancelled, code: "Cancelled") }
    }

    // MARK: In words

    /// - Parameter file: of the settings.
    static func lines(_ count: ExpirationCount, _ settings: Settings, file: String) -> [String] {
        lines("objects", count.objects, settings) + lines("older versions", count.versions, settings)
            + unreadable(count) + undoing(count, file: file)
    }

    private static func unreadable(_ count: ExpirationCount) -> [String] {
        count.unreadable.example.map {
            [
                "\(count.unreadable.count) may expire or not, and are not counted: the listing has no readable size or time"
                    + " of \($0)"
            ]
        } ?? []
    }

    private static func lines(
        _ what: String, _ changes: ExpirationCount.Changes, _ settings: Settings
    ) -> [String] {
        var lines = line("\(what) would newly expire within a day", changes.atOnce)
        lines += line("\(what) would newly expire later", changes.later)
        for (prefix, tally) in changes.laterByPrefix.sorted(by: { $0.key < $1.key }) {
            let place = settings.hasAssets(under: prefix) ? "" : " (NO PLACE OF ASSETS by the settings)"
            lines += line("of them under \"\(prefix)\"\(place)", tally, indent: "  ")
        }
        lines += line("of these \(what) are no assets by their keys", changes.others, indent: "  ")
        return lines + line("\(what) would no longer expire", changes.ceasing)
    }

    private static func line(_ effect: String, _ tally: ExpirationCount.Tally, indent: String = "") -> [String] {
        guard let oldest = tally.oldest else { return [] }
        let first = tally.firstEnd.map { ", the first expires at \($0.wireText)" } ?? ""
        return [
            "\(indent)\(tally.count) \(effect)\(first): \(tally.bytes) bytes; the oldest is \(oldest.key), written at "
                + oldest.written.wireText
        ]
    }

    /// Until when nothing is lost, and how to keep it so; empty where nothing would expire later.
    private static func undoing(_ count: ExpirationCount, file: String) -> [String] {
        let ends = [count.objects, count.versions].flatMap { $0.laterByPrefix.values.compactMap(\.firstEnd) }
        guard let first = ends.min() else { return [] }
        return [
            "none of what would expire later is gone before \(first.wireText); to take that back until then, set"
                + " lifecycle.prefixes and renewal.retentionDays as they were before, and give:",
            "  cloakroom lifecycle apply --stop-expiring \(file)",
        ]
    }

    /// Why the plan is not carried out; `nil` when it may be.
    static func refusal(_ count: ExpirationCount, _ flags: Set<String>) -> String? {
        var reasons: [String] = []
        if count.objects.atOnce.count + count.versions.atOnce.count > 0, !flags.contains("delete-existing") {
            reasons.append(
                "objects that are there would be deleted within a day: renew those that are to stay first (cloakroom renew),"
                    + " or give --delete-existing")
        }
        if count.unreadable.count > 0, !flags.contains("delete-existing") {
            reasons.append(
                "objects that cannot be counted might be deleted within a day: look at them, or give --delete-existing")
        }
        if count.objects.others.count + count.versions.others.count > 0, !flags.contains("expire-other-objects") {
            reasons.append(
                "objects that are no assets would expire with them: leave out their folders (cloakroom lifecycle"
                    + " plan-prefixes --keep FOLDER/ prints such prefixes), or give --expire-other-objects")
        }
        if count.objects.ceasing.count + count.versions.ceasing.count > 0, !flags.contains("stop-expiring") {
            reasons.append("objects would no longer expire: give --stop-expiring if that is meant")
        }
        return reasons.isEmpty ? nil : reasons.joined(separator: "; ")
    }
}

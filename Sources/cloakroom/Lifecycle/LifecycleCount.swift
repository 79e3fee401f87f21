import AWS
import Glibc
import Loop
import Service

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

    func count(_ plan: LifecyclePlan, _ found: BucketLifecycle) async throws(Fault) -> ExpirationCount {
        var count = ExpirationCount(from: found.configuration, to: plan.target, now: Date())
        var progress = Progress(what: "objects counted", total: 0)
        defer { progress.clear() }
        for prefix in ExpirationCount.prefixes(of: plan) {
            if found.versioning == .never {
                try await objects(prefix, &count, &progress)
            } else {
                try await versions(prefix, &count, &progress)
            }
        }
        return count
    }

    private func objects(
        _ prefix: String, _ count: inout ExpirationCount, _ progress: inout Progress
    ) async throws(Fault) {
        var position = S3Client.ListPosition.start
        while true {
            let next = ContinuousClock.now + interval
            let page = try await s3.list(prefix: prefix, from: position, deadline: .now + .seconds(60))
            count.count(page)
            progress.show(count.seen)
            guard let continuation = page.continuation else { return }
            guard position != .continuation(continuation) else { throw Fault(.refused, code: "SamePageAgain") }
            position = .continuation(continuation)
            try await wait(next)
        }
    }

    private func versions(
        _ prefix: String, _ count: inout ExpirationCount, _ progress: inout Progress
    ) async throws(Fault) {
        var position: VersionPage.Position?
        while true {
            let next = ContinuousClock.now + interval
            let page = try await s3.versions(prefix: prefix, from: position, deadline: .now + .seconds(60))
            count.count(page)
            progress.show(count.seen)
            guard let following = page.next else { return }
            guard position != following else { throw Fault(.refused, code: "SamePageAgain") }
            position = following
            try await wait(next)
        }
    }

    private func wait(_ until: ContinuousClock.Instant) async throws(Fault) {
        guard ContinuousClock.now < until else { return }
        do { try await LoopActor.sleep(for: until - .now) } catch { throw Fault(.cancelled, code: "Cancelled") }
    }

    // MARK: In words

    static func lines(_ count: ExpirationCount) -> [String] {
        lines("objects", count.objects) + lines("older versions", count.versions)
    }

    private static func lines(_ what: String, _ changes: ExpirationCount.Changes) -> [String] {
        [
            ("would newly expire within a day", changes.atOnce), ("would newly expire later", changes.later),
            ("would no longer expire", changes.ceasing),
        ].compactMap { effect, tally in
            guard let oldest = tally.oldest else { return nil }
            return "\(tally.count) \(what) \(effect): \(tally.bytes) bytes; the oldest is \(oldest.key), written at "
                + oldest.written.wireText
        }
    }

    /// Why the plan is not carried out; `nil` when it may be.
    static func refusal(_ count: ExpirationCount, _ flags: Set<String>) -> String? {
        var reasons: [String] = []
        if count.objects.atOnce.count + count.versions.atOnce.count > 0, !flags.contains("delete-existing") {
            reasons.append(
                "objects that are there would be deleted within a day: renew those that are to stay first (cloakroom renew),"
                    + " or give --delete-existing")
        }
        if count.objects.ceasing.count + count.versions.ceasing.count > 0, !flags.contains("stop-expiring") {
            reasons.append("objects would no longer expire: give --stop-expiring if that is meant")
        }
        return reasons.isEmpty ? nil : reasons.joined(separator: "; ")
    }
}

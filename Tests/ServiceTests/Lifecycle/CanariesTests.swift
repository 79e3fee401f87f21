import Foundation
import CloakroomOperations
import CloakroomServer
import CloakroomJSON
import Testing

/// Runs once a day against a bucket that is simulated.
struct CanariesTests {
    /// A bucket, and what it may do otherwise than it should.
    private struct Bucket {
        var objects: [String: Date] = [:]
        var days: Int? = 30
        var delay: Double = 7200
        var renews = true

        mutating func expire(_ now: Date) {
            guard let days else { return }
            objects = objects.filter {
                now < ExpirationClock().expiration(of: $0.value, days: days).addingTimeInterval(delay)
            }
        }
    }

    private let start = Date(timeIntervalSince1970: 1_800_000_000)

    private func fresh() -> Canaries { Canaries(days: 30, grace: .seconds(2 * 86_400)) }

    /// One day's run, from what the bucket's ledger says.
    private func run(_ ledger: inout JSON?, _ bucket: inout Bucket, _ now: Date) throws -> (
        [Canaries.FailedCanary], Canaries
    ) {
        var canaries = fresh()
        if let ledger { #expect(canaries.read(try JSON(parsing: Array(ledger.text.utf8)))) }
        bucket.expire(now)
        var findings = canaries.compare(with: Set(bucket.objects.keys), now: now)
        for canary in canaries.renewals(now) {
            if bucket.renews { bucket.objects[canary.name] = now }
            if let finding = canaries.renewed(canary, written: bucket.objects[canary.name] ?? now) {
                findings.append(finding)
            }
        }
        for canary in canaries.survivors(now) { canaries.survived(canary, now: now) }
        for role in canaries.missing(now) {
            bucket.objects[Canaries.name(role, canaries.clock.startOfDay(now))] = now
            canaries.made(role, now: now, written: now)
        }
        ledger = canaries.ledger
        return (findings, canaries)
    }

    /// - Returns: each day's findings.
    private func days(
        _ count: Int, _ bucket: inout Bucket, change: (Int, inout Bucket) -> Void = { _, _ in }
    ) throws -> [[Canaries.Failure]] {
        var ledger: JSON?
        return try (0..<count).map { day in
            change(day, &bucket)
            return try run(&ledger, &bucket, start.addingTimeInterval(Double(day) * 86_400)).0.map(\.failure)
        }
    }

    @Test func `finds nothing wrong for a hundred days, and proves both promises every day`() throws {
        var bucket = Bucket()
        var ledger: JSON?
        for day in 0..<100 {
            let now = start.addingTimeInterval(Double(day) * 86_400)
            let (findings, canaries) = try run(&ledger, &bucket, now)
            #expect(findings == [], "day \(day)")
            #expect((canaries.lastExpiry == now) == (day > 30), "day \(day)")
            #expect((canaries.lastSurvival == now) == (day > 30), "day \(day)")
        }
        // Two a day for 31 days; those that survived live on for half as long.
        #expect(bucket.objects.count < 100)
        // What nobody renews any more goes.
        bucket.expire(start.addingTimeInterval(200 * 86_400))
        #expect(bucket.objects == [:])
    }

    @Test func `a rule that is gone is found when the grace is over`() throws {
        var bucket = Bucket()
        bucket.days = nil
        let found = try days(35, &bucket)
        #expect(found.prefix(33).allSatisfy { $0 == [] })
        #expect(found.last == [.late, .late])
    }

    @Test func `a rule with fewer days is found as soon as the first object goes`() throws {
        var bucket = Bucket()
        bucket.days = 10
        let found = try days(13, &bucket)
        #expect(found.firstIndex { $0 != [] } == 11 && found.last == [.early, .early])
    }

    @Test func `a renewal that does nothing is found on the day it is due`() throws {
        var bucket = Bucket()
        bucket.renews = false
        let found = try days(17, &bucket)
        #expect(found.firstIndex { $0 != [] } == 15)
        #expect(found.last == [.renewal, .renewal])
    }

    @Test func `an object that goes although it was renewed is lost`() throws {
        var bucket = Bucket()
        let first = Canaries.name(.keep, ExpirationClock().startOfDay(start))
        let found = try days(20, &bucket) { day, bucket in if day == 18 { bucket.objects[first] = nil } }
        #expect(found[18] == [.lost] && found[19] == [])
    }

    @Test func `days without a run are no broken promise`() throws {
        var bucket = Bucket()
        var ledger: JSON?
        _ = try run(&ledger, &bucket, start)
        let (findings, canaries) = try run(&ledger, &bucket, start.addingTimeInterval(40 * 86_400))
        #expect(findings == [] && canaries.canaries.count == 2)
    }

    @Test func `what S3 has not removed yet after days without a run is not renewed, and may go any moment`() throws {
        var bucket = Bucket()
        var ledger: JSON?
        _ = try run(&ledger, &bucket, start)
        bucket.delay = 86_400
        let back = ExpirationClock().expiration(of: start, days: 30).addingTimeInterval(3600)
        let (findings, canaries) = try run(&ledger, &bucket, back)
        #expect(findings == [] && canaries.renewals(back) == [])
        #expect(canaries.canaries.allSatisfy { $0.renewed == nil })
    }

    /// As the ledger of an earlier version has them, in another place of the bucket.
    @Test(arguments: [true, false])
    func `canaries of an earlier version are followed to their end`(formerExpire: Bool) throws {
        var old = fresh()
        old.made(.delete, now: start, written: start)
        old.made(.keep, now: start, written: start)
        var canaries = Canaries(days: 30, grace: .seconds(2 * 86_400), formerExpire: formerExpire)
        #expect(canaries.read(try JSON(parsing: Array(old.ledger.text.utf8)), isFormer: true))
        // From then on they are in the new ledger.
        var next = Canaries(days: 30, grace: .seconds(2 * 86_400), formerExpire: formerExpire)
        #expect(next.read(try JSON(parsing: Array(canaries.ledger.text.utf8))) && next == canaries)
        let names = Set(canaries.canaries.map(\.name))
        #expect(names.count == 2 && names.allSatisfy { $0.hasPrefix(Canaries.formerMark) })
        // Today's are made all the same.
        #expect(canaries.missing(start) == [.delete, .keep])
        var gone = canaries
        #expect(gone.compare(with: [], now: start.addingTimeInterval(86_400)).map(\.failure) == [.early, .early])
        #expect(canaries.renewals(start.addingTimeInterval(16 * 86_400)).count == (formerExpire ? 1 : 0))
        // Where no rule is for them any more, nothing can remove them, and they prove nothing.
        let end = start.addingTimeInterval(40 * 86_400)
        #expect(canaries.compare(with: names, now: end).map(\.failure) == (formerExpire ? [.late, .late] : []))
        #expect(canaries.canaries.isEmpty == !formerExpire && canaries.lastSurvival == nil)
    }

    @Test func `a rule that is gone is found though the ledger is lost`() throws {
        var bucket = Bucket()
        bucket.days = nil
        var ledger: JSON?
        var found: [Canaries.Failure] = []
        for day in 0..<35 {
            if day == 20 { ledger = nil }
            found += try run(&ledger, &bucket, start.addingTimeInterval(Double(day) * 86_400)).0.map(\.failure)
        }
        #expect(found == [.late, .late, .late])
    }

    @Test func `a second run on one day makes no more canaries`() throws {
        var bucket = Bucket()
        var ledger: JSON?
        for _ in 0..<3 { _ = try run(&ledger, &bucket, start) }
        #expect(bucket.objects.count == 2)
    }

    @Test(arguments: ["null", "{}", #"{"version":1,"daySeconds":10,"canaries":[]}"#])
    func `takes nothing for a ledger that is none, or of other days`(text: String) throws {
        var canaries = fresh()
        #expect(try !canaries.read(JSON(parsing: Array(text.utf8))))
    }

    @Test func `tells Prometheus what it found`() throws {
        var bucket = Bucket()
        bucket.days = nil
        var ledger: JSON?
        var last: ([Canaries.FailedCanary], Canaries) = ([], fresh())
        let end = start.addingTimeInterval(33 * 86_400)
        for day in 0..<34 { last = try run(&ledger, &bucket, start.addingTimeInterval(Double(day) * 86_400)) }
        let lines = CanaryMetrics.text(last.1, last.0, now: end).split(separator: "\n")
        #expect(lines.contains("cloakroom_canary_last_run_timestamp_seconds \(Int(end.timeIntervalSince1970))"))
        #expect(lines.contains(#"cloakroom_canary_failures{kind="late"} 1"#))
        #expect(lines.contains(#"cloakroom_canary_objects{role="delete",state="late"} 1"#))
        #expect(!lines.contains { $0.hasPrefix("cloakroom_canary_last_expiry") })
    }

    @Test func `shorter days need not end at a midnight`() throws {
        let clock = ExpirationClock(dayLength: .seconds(10))
        let written = start.addingTimeInterval(1)
        var canaries = Canaries(days: 2, clock: clock, grace: .seconds(20))
        for role in Canaries.Role.allCases { canaries.made(role, now: written, written: written) }
        let kept = Canaries.name(.keep, clock.startOfDay(written))
        #expect(canaries.renewals(written.addingTimeInterval(9.9)).isEmpty)
        #expect(canaries.renewals(written.addingTimeInterval(10)).map(\.name) == [kept])
        var early = canaries
        #expect(early.compare(with: [kept], now: written.addingTimeInterval(19)).map(\.failure) == [.early])
        #expect(canaries.compare(with: [kept], now: written.addingTimeInterval(20)).isEmpty)
        #expect(canaries.lastExpiry == written.addingTimeInterval(20))
    }
}

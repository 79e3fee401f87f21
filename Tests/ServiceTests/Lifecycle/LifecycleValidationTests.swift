import Foundation
import CloakroomOperations
import CloakroomServer
import CloakroomJSON
import Testing

/// A run against a store that is simulated, in a time that only the test knows.
struct LifecycleValidationTests {
    /// What a store may do otherwise than it should.
    struct Store {
        /// After the expiration, until the object is gone; `nil`: it never goes.
        var delay: Double? = 600
        var tellsExpiration = true
        /// What `x-amz-expiration` counts; `nil` for the days by which objects expire.
        var toldDay: Double?
        /// Whether objects expire to the second of their age, as Ceph's with `rgw_lc_debug_interval`.
        var rounds = true
        /// Whether a copy onto itself moves the date.
        var renews = true
        /// The days that objects really live; `nil` for those of the rule.
        var days: Int?
        /// Whether a renewed object's bytes stay.
        var keepsBytes = true
        /// What the store says instead of renewing.
        var refusal: String?
    }

    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private func plan(days: Int = 1, day: Duration = .seconds(86_400), started: Date = start)
        -> LifecycleValidation.Plan
    {
        .init(
            id: "0123456789ab", bucket: "test", ownsBucket: true, days: days, clock: ExpirationClock(dayLength: day),
            grace: day * 2, pairs: 2, started: started)
    }

    private struct Outcome {
        var verdict: LifecycleValidation.Verdict
        var validation: LifecycleValidation
        var end: Date
        var renewals: Int { validation.renewed.reduce(0) { $0 + $1.renewals.count } }
    }

    /// Runs to the verdict. After every step the run is killed and goes on from what it had written down.
    ///
    /// - Parameter every: when the command runs, in seconds, as `--once` from cron; `nil`: it waits by itself.
    private func run(_ plan: LifecycleValidation.Plan, _ store: Store = Store(), every: Double? = nil) throws -> Outcome
    {
        var validation = LifecycleValidation(plan)
        var now = plan.started
        for _ in 0..<10_000 {
            validation = try #require(LifecycleValidation(state: try JSON(parsing: Array(validation.state.text.utf8))))
            switch validation.next(now) {
            case .prepare: validation.prepared(rule: "the rule", days: plan.days)
            case .upload(let index):
                now += 1
                let written = whole(now)
                validation.uploaded(index, written: written, toldExpiration: told(written, plan, store))
            case .renew(let index):
                now += 1
                if let refusal = store.refusal {
                    validation.recordProblem(index, refusal)
                } else if isGone(validation.objects[index], plan, store, now) {
                    validation.missed(index, at: now)
                } else {
                    let written = store.renews ? whole(now) : validation.objects[index].lastWritten ?? now
                    validation.renewed(index, at: now, written: written, toldExpiration: told(written, plan, store))
                }
            case .look:
                for index in validation.objects.indices where validation.objects[index].missed == nil {
                    now += 0.1
                    if isGone(validation.objects[index], plan, store, now) {
                        validation.missed(index, at: now)
                    } else {
                        let isRenewed = !validation.objects[index].renewals.isEmpty
                        validation.saw(index, at: now, isIntact: store.keepsBytes || !isRenewed)
                    }
                }
                validation.looked(at: now)
            case .wait(let until, _):
                #expect(until > now)
                now = every.map { now + $0 } ?? until
            case .finish(let verdict): return Outcome(verdict: verdict, validation: validation, end: now)
            }
        }
        throw TimeoutError()
    }

    private struct TimeoutError: Error {}

    /// LastModified has whole seconds.
    private func whole(_ date: Date) -> Date { Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down)) }

    private func told(_ written: Date, _ plan: LifecycleValidation.Plan, _ store: Store) -> Date? {
        let clock = store.toldDay.map { ExpirationClock(dayLength: .seconds($0)) } ?? plan.clock
        return store.tellsExpiration ? clock.expiration(of: written, days: plan.days) : nil
    }

    private func isGone(
        _ object: LifecycleValidation.Object, _ plan: LifecycleValidation.Plan, _ store: Store, _ now: Date
    ) -> Bool {
        guard let delay = store.delay, let written = object.lastWritten else { return false }
        let days = store.days ?? plan.days
        let end =
            store.rounds
            ? plan.clock.expiration(of: written, days: days)
            : written.addingTimeInterval(Double(days) * plan.clock.day)
        return now >= end.addingTimeInterval(delay)
    }

    private func results(_ outcome: Outcome) -> [LifecycleValidation.Check.Result] {
        outcome.validation.checks(outcome.end).map(\.result)
    }

    // MARK: The proof

    @Test(arguments: [1, 2, 3, 30]) func `proves it on a store like AWS, killed after every step`(days: Int) throws {
        let outcome = try run(plan(days: days))
        #expect(outcome.verdict == .proven)
        #expect(results(outcome) == [.passed, .passed, .passed, .passed, .passed])
        // The midnight after the days, the store's delay, and at most the time between two looks.
        let midnight = ExpirationClock().expiration(of: Self.start, days: days)
        #expect(outcome.end > midnight && outcome.end < midnight.addingTimeInterval(600 + 3700))
    }

    @Test func `ends within half a minute where a day is ten seconds`() throws {
        var store = Store()
        store.delay = 0
        let outcome = try run(plan(day: .seconds(10)), store)
        #expect(outcome.verdict == .proven && outcome.end.timeIntervalSince(Self.start) < 30)
    }

    @Test(arguments: [0.0, 3.0, 9.9]) func `does not depend on when in the day it begins`(offset: Double) throws {
        var store = Store()
        store.delay = 0
        // Uploads that begin before midnight and end after it included.
        let outcome = try run(plan(day: .seconds(10), started: Self.start.addingTimeInterval(offset)), store)
        #expect(outcome.verdict == .proven)
    }

    @Test func `runs from cron each hour`() throws {
        #expect(try run(plan(), every: 3600).verdict == .proven)
        #expect(try run(plan(days: 30), every: 3600).verdict == .proven)
    }

    @Test func `takes no slowness for a failure within the grace, and goes on renewing meanwhile`() throws {
        var store = Store()
        store.delay = 1.9 * 86_400
        let outcome = try run(plan(), store)
        #expect(outcome.verdict == .proven && outcome.renewals > 4)
        #expect(results(outcome) == [.passed, .passed, .passed, .passed, .passed])
    }

    @Test func `a store that does not tell expirations proves it as well`() throws {
        var store = Store()
        store.tellsExpiration = false
        let outcome = try run(plan(), store)
        #expect(outcome.verdict == .proven)
        #expect(results(outcome) == [.passed, .passed, .untold, .passed, .passed])
    }

    /// As Ceph does with `rgw_lc_debug_interval`: its `x-amz-expiration` counts days of 24 hours all the same.
    @Test(arguments: [(1, 0.0), (1, 3.0), (1, 9.9), (2, 0.0), (3, 7.5)])
    func `trusts x-amz-expiration only where it counts the days by which objects go`(days: Int, offset: Double) throws {
        var store = Store()
        store.delay = 0
        store.toldDay = 86_400
        store.rounds = false
        let outcome = try run(
            plan(days: days, day: .seconds(10), started: Self.start.addingTimeInterval(offset)), store)
        #expect(outcome.verdict == .proven)
        #expect(results(outcome) == [.passed, .passed, .untold, .passed, .passed])
    }

    @Test func `an x-amz-expiration of other days is a fault of a store whose days are as long as ours`() throws {
        var store = Store()
        store.toldDay = 10
        let outcome = try run(plan(days: 30), store)
        #expect(outcome.verdict == .proven && results(outcome) == [.passed, .passed, .failed, .passed, .passed])
    }

    // MARK: What is not as it should be

    @Test func `a bucket where nothing expires fails, but not before the grace is over`() throws {
        var store = Store()
        store.delay = nil
        let outcome = try run(plan(), store)
        #expect(outcome.verdict == .failed && results(outcome)[3] == .failed)
        let end = ExpirationClock().expiration(of: Self.start, days: 1).addingTimeInterval(2 * 86_400)
        #expect(outcome.end > end && outcome.end < end.addingTimeInterval(7200))
    }

    @Test func `a renewal that does not move the date fails at once`() throws {
        var store = Store()
        store.renews = false
        let outcome = try run(plan(), store)
        #expect(outcome.verdict == .failed && results(outcome)[1] == .failed)
        #expect(outcome.end < ExpirationClock().expiration(of: Self.start, days: 1))
    }

    @Test func `what goes before its days are over fails`() throws {
        var store = Store()
        store.days = 10
        let outcome = try run(plan(days: 30), store)
        #expect(outcome.verdict == .failed)
        #expect(results(outcome)[3] == .failed)
    }

    @Test func `an object that is listed but whose bytes are gone has not survived`() throws {
        var store = Store()
        store.keepsBytes = false
        #expect(try run(plan(), store).verdict == .failed)
    }

    @Test func `a refusal is told in the report`() throws {
        var store = Store()
        store.refusal = "the store refused to renew it (AccessDenied)"
        let outcome = try run(plan(), store)
        #expect(outcome.verdict == .failed)
        #expect(outcome.validation.markdown(outcome.end).contains("AccessDenied"))
    }

    @Test func `a run that was not there in time proves nothing`() throws {
        #expect(try run(plan(), every: 3.5 * 86_400).verdict == .inconclusive)
    }

    @Test func `a renewal that came when all had expired, and S3 was slow, proves nothing`() throws {
        var store = Store()
        store.delay = 1.9 * 86_400
        let outcome = try run(plan(), store, every: 2.5 * 86_400)
        #expect(outcome.verdict == .inconclusive && results(outcome)[4] == .open)
    }

    // MARK: What is written

    @Test func `the report says the same to people and to programs`() throws {
        let outcome = try run(plan())
        let report = try #require(outcome.validation.report(outcome.end).object)
        #expect(report["verdict"]?.string == "proven" && report["objects"]?.array?.count == 4)
        #expect(
            report["checks"]?.array?.compactMap { $0.object?["result"]?.string } == results(outcome).map(\.rawValue))
        let text = outcome.validation.markdown(outcome.end)
        #expect(text.contains("**Proven.**") && text.contains("| passed | What is not renewed expires |"))
        #expect(text.contains("up to 2 d after that count as S3 taking its time"))
    }

    @Test func `a state tells the store and the days that were given, and is read without them`() throws {
        var plan = plan(days: 3)
        plan.location = BucketLocation(bucket: "test", endpoint: "https://s3.example", region: "eu-west-1")
        var validation = LifecycleValidation(plan)
        validation.prepared(rule: "the bucket's own", days: 9)
        #expect(LifecycleValidation(state: validation.state) == validation)
        #expect(validation.plan.days == 9 && validation.plan.requestedDays == 3)
        let text = validation.state.text
        let former = text.replacing(
            #""endpoint":"https://s3.example","region":"eu-west-1","requestedDays":3,"#, with: "")
        #expect(former != text)
        let read = LifecycleValidation(state: try JSON(parsing: Array(former.utf8)))
        (validation.plan.location, validation.plan.requestedDays) = (nil, nil)
        #expect(read == validation)
        #expect(LifecycleValidation(state: validation.state) == validation)
    }

    @Test(arguments: ["null", "{}", #"{"version":2}"#, "[]"])
    func `takes nothing for a state that is none`(text: String) throws {
        #expect(LifecycleValidation(state: try JSON(parsing: Array(text.utf8))) == nil)
    }

    @Test func `rounds up to the next midnight, as the S3 User Guide's example does`() throws {
        let clock = ExpirationClock()
        let written = try Date("2014-01-15T10:30:00Z", strategy: .iso8601)
        #expect(clock.expiration(of: written, days: 3) == (try Date("2014-01-19T00:00:00Z", strategy: .iso8601)))
    }
}

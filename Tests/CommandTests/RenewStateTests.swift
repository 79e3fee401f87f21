import Foundation
import CloakroomLoop
import CloakroomOperations
import CloakroomServer
import CloakroomTestSupport
import Testing

@testable import CloakroomCommand

@Suite(.onLoop)
struct RenewStateTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private static let day: TimeInterval = 86_400
    private static let older = RenewSource.older(age: .seconds(20 * 86_400), prefix: "assets/")

    private let folder: TemporaryFolder
    private var path: String { folder["renew.state"] }

    init() throws { folder = try TemporaryFolder() }

    @LoopActor private func state(
        _ source: RenewSource, after seconds: TimeInterval, bucket: String = "b",
        endpoint: String = "https://s3.example", region: String = "eu-west-1", rule: String = "a rule"
    ) throws -> RenewState {
        let location = BucketLocation(bucket: bucket, endpoint: endpoint, region: region)
        return try RenewState(path: path, source: source, location: location, rule: rule, now: Self.start + seconds)
    }

    /// A state that an interrupted run leaves.
    @LoopActor private func leave(_ source: RenewSource) throws {
        var totals = RenewalRun.Totals()
        totals.renewed = 7
        #expect(try state(source, after: 0).keep("assets/k", totals))
    }

    @Test(arguments: [(older, 3600), (older, day), (.list("/none"), day)] as [(RenewSource, TimeInterval)])
    @LoopActor func `a run goes on, and keeps when it was started`(source: RenewSource, later: TimeInterval) throws {
        try leave(source)
        for _ in 0..<2 {
            let state = try state(source, after: later)
            #expect(state.position == "assets/k" && state.totals.renewed == 7 && state.restart == nil)
            #expect(state.started == Self.start && state.keep("assets/k", state.totals))
        }
    }

    @Test(
        arguments: [
            (older, day + 1), (older, 21 * day), (older, -day), (.older(age: .seconds(60), prefix: ""), 61),
            (.list("/none"), day + 1), (.list("/none"), 30 * day), (.list("/none"), -day),
        ] as [(RenewSource, TimeInterval)])
    @LoopActor func `a run begins anew when what it renewed or passed over may be due by now`(
        source: RenewSource, later: TimeInterval
    ) throws {
        try leave(source)
        let state = try state(source, after: later)
        #expect(state.position == nil && state.totals == RenewalRun.Totals())
        #expect(state.restart?.contains("was started at 2027-01-15T08:00:00Z") == true)
        #expect(state.started == Self.start + later)
    }

    @Test @LoopActor func `a run does not go on from the state of another store`() throws {
        try leave(Self.older)
        for (bucket, endpoint, region) in [
            ("c", "https://s3.example", "eu-west-1"), ("b", "https://s3.staging.example", "eu-west-1"),
            ("b", "https://s3.example", "eu-west-2"),
        ] {
            var refusal: String?
            do {
                _ = try state(Self.older, after: 60, bucket: bucket, endpoint: endpoint, region: region)
            } catch { refusal = "\(error)" }
            #expect(refusal?.contains("belongs to a run with other keys, or of another store") == true, "\(endpoint)")
        }
        #expect(try state(Self.older, after: 60).position == "assets/k")
    }

    @Test @LoopActor func `a state of earlier versions, which tells no store, begins anew`() throws {
        try leave(Self.older)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let former = text.replacing(#""endpoint":"https://s3.example","region":"eu-west-1","#, with: "")
        #expect(former != text)
        try former.write(toFile: path, atomically: true, encoding: .utf8)
        let state = try state(Self.older, after: 60)
        #expect(state.position == nil && state.restart == "does not say of which store it is")
    }

    @Test(arguments: [older, .list("/none")])
    @LoopActor func `a run begins anew when the settings changed what is left alone`(source: RenewSource) throws {
        try leave(source)
        do {
            let changed = try state(source, after: 60, rule: "another rule")
            #expect(changed.position == nil && changed.totals == RenewalRun.Totals())
            #expect(changed.restart == "is of a run that left other keys alone")
        }
        #expect(try state(source, after: 60).position == "assets/k")
    }

    @Test @LoopActor func `a run that goes on knows whether anything was found`() throws {
        try leave(Self.older)
        #expect(try !state(Self.older, after: 60).hasFound)
        do {
            let first = try state(Self.older, after: 60)
            first.found()
            #expect(first.keep("assets/k", first.totals))
        }
        #expect(try state(Self.older, after: 60).hasFound)
    }

    @Test(
        arguments: [
            (older, day, false), (older, day + 1, true), (.older(age: .seconds(60), prefix: ""), 60, false),
            (.older(age: .seconds(60), prefix: ""), 61, true), (.list("/none"), 30 * day, false),
        ] as [(RenewSource, TimeInterval, Bool)])
    @LoopActor func `a listing that took longer than its state is good for is followed by another`(
        source: RenewSource, later: TimeInterval, expected: Bool
    ) throws {
        let state = try state(source, after: 0)
        #expect(state.needsAnotherPass(now: Self.start + later) == expected)
    }

    @Test(arguments: [1.5 * day, 7 * day, 60 * day])
    @LoopActor func `passes come to an end, however long each takes`(length: TimeInterval) throws {
        let state = try state(Self.older, after: 0)
        var (now, passes) = (Self.start + length, 1)
        while state.needsAnotherPass(now: now), passes < 100 {
            #expect(state.beginPass(RenewalRun.Totals(), now: now) && state.started == now)
            (now, passes) = (now + length, passes + 1)
        }
        // The last one began when all that was there at the start was old enough.
        #expect(state.started >= Self.start + 20 * Self.day && state.started < Self.start + 20 * Self.day + length)
        #expect(state.firstStarted == Self.start)
    }

    @Test @LoopActor func `an interrupted second pass goes on, with the totals of the first`() throws {
        var totals = RenewalRun.Totals()
        totals.renewed = 7
        #expect(try state(Self.older, after: 0).beginPass(totals, now: Self.start + 2 * Self.day))
        let state = try state(Self.older, after: 2 * Self.day + 60)
        #expect(state.position == "" && state.restart == nil && state.totals.renewed == 7)
        #expect(state.started == Self.start + 2 * Self.day)
    }

    @Test(arguments: [older, .list("/none")])
    @LoopActor func `a state of earlier versions, which tells no start, begins anew`(source: RenewSource) throws {
        try leave(source)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let former = text.replacing(#","started":"2027-01-15T08:00:00Z""#, with: "")
        #expect(former != text)
        try former.write(toFile: path, atomically: true, encoding: .utf8)
        let state = try state(source, after: 60)
        #expect(state.position == nil && state.restart == "does not say when it was started")
    }
}

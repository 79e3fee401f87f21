import CloakroomLoad
import CloakroomLoop
import CloakroomTestSupport
import Testing

@LoopActor @Suite(.onLoop)
struct KneeSearchTests {
    private let bars = [LoadBar("p99>100ms"), LoadBar("errors>0.1%")].compactMap(\.self)

    /// Runs that each begin with a server at rest.
    private func search(
        from first: Double, _ bars: [LoadBar], maximumOpen: Int = 100_000,
        target: @LoopActor (VirtualClock) -> any LoadTarget
    ) -> (KneeSearch, [Double]) {
        var search = KneeSearch(from: first, highest: 100_000)
        let mix = RequestMix([.init(.health, weight: 1)])
        var rates: [Double] = []
        while case .run(let rate) = search.next {
            rates.append(rate)
            let clock = VirtualClock()
            let schedule = LoadSchedule([.steady(rate, seconds: 10)])
            let loop = OpenLoop(schedule, mix, target: target(clock), clock: clock, maximumOpen: maximumOpen)
            loop.begin {}
            clock.runOut()
            search.record(loop.tally.steps(schedule, mix)[0], bars)
        }
        return (search, rates)
    }

    @Test(arguments: [10.0, 100, 730, 20_000])
    func `finds what a server can do to 5 %, wherever it begins`(first: Double) throws {
        // A server of 1,000 a second has a backlog of 100 ms after 10 s of 1,010 a second.
        let (search, rates) = search(from: first, bars) { VirtualQueue($0, requestsPerSecond: 1000) }
        guard case .end(.found(let good, let bad)) = search.next else {
            Issue.record("found nothing: \(search.next)")
            return
        }
        #expect(good < 1011 && bad > 1009)
        #expect(bad <= good * 1.05)
        #expect(rates.count { $0 == good } == 3)
        #expect(rates.count { $0 == bad } == 3)
        #expect(rates.count < 25)
    }

    @Test func `busy connections and requests that are not sent hide no server that is at its limit`() throws {
        // Beyond 1,000 a second each of the 16 connections has its request for 16 ms, and not for 1 ms as below.
        let (search, _) = search(from: 100, bars, maximumOpen: 1000) {
            VirtualQueue($0, requestsPerSecond: 1000, connections: 16)
        }
        guard case .end(.found(let good, let bad)) = search.next else {
            Issue.record("found nothing: \(search.next)")
            return
        }
        #expect(good < 1011 && bad > 1009)
    }

    @Test func `the generator's connections are not taken for the server's knee`() throws {
        // 8 connections of 100 ms carry 80 a second, of a server that handles any number at once.
        let bar = try #require(LoadBar("p99>200ms"))
        let (search, rates) = search(from: 10, [bar]) {
            VirtualServer($0, connections: 8) { _, _ in .milliseconds(100) }
        }
        #expect(rates == [10, 20, 40, 80, 160, 160, 160])
        guard case .end(let outcome) = search.next, case .generatorLimit(160, let doubt) = outcome else {
            Issue.record("not the generator's limit: \(search.next)")
            return
        }
        #expect(doubt.hasPrefix("all 8 connections were busy: 1 % of the requests waited more than "))
        #expect(outcome.text == "none found: at 160/s the generator is the limit, not the server: \(doubt)")
    }

    @Test func `requests that are not sent are not taken for the server's knee`() throws {
        let bar = try #require(LoadBar("errors>1%"))
        let (search, rates) = search(from: 40, [bar], maximumOpen: 100) {
            VirtualServer($0) { _, _ in .milliseconds(1000) }
        }
        #expect(rates == [40, 80, 160, 160, 160])
        guard case .end(.generatorLimit(160, let doubt)) = search.next else {
            Issue.record("not the generator's limit: \(search.next)")
            return
        }
        #expect(doubt.hasSuffix(" of 1600 requests were not sent, since too many were open"))
    }

    @Test func `says when no rate keeps the bars, and when all do`() {
        var hopeless = KneeSearch(from: 100, highest: 1000)
        while case .run = hopeless.next { hopeless.record(kept: false, doubt: nil) }
        #expect(hopeless.next == .end(.everyRateBroken(100.0 / 1024)))
        var bounded = KneeSearch(from: 100, lowest: 30, highest: 1000)
        while case .run = bounded.next { bounded.record(kept: false, doubt: nil) }
        #expect(bounded.next == .end(.everyRateBroken(30)))
        var idle = KneeSearch(from: 100, highest: 1000)
        while case .run = idle.next { idle.record(kept: true, doubt: nil) }
        #expect(idle.next == .end(.noneBroken(1000)))
    }

    @Test func `a late generator is not taken for a slow server`() {
        var search = KneeSearch(from: 100, highest: 100_000)
        while case .run(let rate) = search.next { search.record(kept: rate < 500, doubt: rate >= 500 ? "late" : nil) }
        #expect(search.next == .end(.generatorLimit(800, "late")))
    }

    /// A run of ten seconds against a server that takes 1 ms for each request.
    private func step(_ rate: Double, _ mix: RequestMix, outcome: @escaping (Int) -> LoadOutcome) -> LoadStep {
        let clock = VirtualClock()
        let schedule = LoadSchedule([.steady(rate, seconds: 10)])
        let server = VirtualServer(clock, outcome: outcome) { _, _ in .milliseconds(1) }
        let loop = OpenLoop(schedule, mix, target: server, clock: clock, maximumOpen: 100_000)
        loop.begin {}
        clock.runOut()
        return loop.tally.steps(schedule, mix)[0]
    }

    @Test func `responses of 429 end a search: limits that are used up are no knee`() throws {
        var search = KneeSearch(from: 100, highest: 100_000)
        let mix = RequestMix([.init(.vend, weight: 1)])
        let first = search.record(step(100, mix) { _ in .response(status: 200) }, bars)
        #expect(first && search.next == .run(200))
        // One of two thousand, which keeps the bars.
        let second = search.record(step(200, mix) { .response(status: $0 == 1000 ? 429 : 200) }, bars)
        #expect(second && search.next == .end(.limitsReached(200)))
        let text = KneeSearch.Outcome.limitsReached(200).text
        #expect(
            text == "none found: responses at 200/s are 429: limits are used up, which is no knee;"
                + " give more --users and --devices, or higher limits in the settings")
        search = KneeSearch(from: 100, highest: 100_000)
        let third = search.record(step(100, mix) { _ in .response(status: 429) }, bars)
        #expect(!third && search.next == .end(.limitsReached(100)))
    }

    @Test func `responses of 401 end a search: tokens that have ended break no server`() throws {
        var search = KneeSearch(from: 100, highest: 100_000)
        let mix = RequestMix([.init(.vend, weight: 1)])
        search.record(step(100, mix) { _ in .response(status: 401) }, bars)
        #expect(search.next == .end(.tokensRefused(100)))
    }

    @Test(arguments: [["p99>100ms"], ["mean>5ms", "errors<10"]])
    func `no rate is found of a server that refuses everything within a millisecond`(given: [String]) {
        let mix = RequestMix([.init(.vend, weight: 1), .init(.renew, weight: 1)])
        let bars = KneeSearch.bars(given.compactMap { LoadBar($0) }, mix)
        var search = KneeSearch(from: 100, lowest: 20, highest: 100_000)
        while case .run(let rate) = search.next {
            search.record(step(rate, mix) { _ in .response(status: 503) }, bars)
        }
        #expect(search.next == .end(.everyRateBroken(20)))
    }

    @Test(
        arguments: [
            ([], ["p99>100ms", "errors>0.1%"]), (["p99>20ms"], ["p99>20ms", "errors>0.1%"]),
            (["p99>20ms", "errors>5%"], ["p99>20ms", "errors>5%"]), (["errors>10"], ["errors>10"]),
            (["vend:errors>5%"], ["vend:errors>5%", "renew:errors>0.1%"]),
            (["vend:errors>5%", "renew:errors>9"], ["vend:errors>5%", "renew:errors>9"]),
        ] as [([String], [String])])
    func `the default bar for errors is added where the given ones leave a route without`(
        given: [String], bars: [String]
    ) {
        let mix = RequestMix([.init(.vend, weight: 1), .init(.renew, weight: 1)])
        #expect(KneeSearch.bars(given.compactMap { LoadBar($0) }, mix).map(\.text) == bars)
    }

    @Test func `a search ends where a bar is about a route that no request was sent to`() throws {
        var search = KneeSearch(from: 100, highest: 100_000)
        let bar = try #require(LoadBar("renew:p99>1s"))
        // One request of one of the two routes, whichever it is.
        let mix = RequestMix([.init(.vend, weight: 1), .init(.renew, weight: 1)])
        let lone = step(0.1, mix) { _ in .response(status: 200) }
        let vend = try #require(LoadBar("vend:p99>1s"))
        let isKept = search.record(lone, [vend, bar])
        let missing = lone.parts[0].group.due == 0 ? vend : bar
        #expect(!isKept && search.next == .end(.notMeasured(missing, 0.1)))
        #expect(KneeSearch.Outcome.notMeasured(bar, 0.1).text.contains("renew:p99>1s is not measured at 0.10/s"))
    }

    @Test func `one late run is repeated`() {
        var search = KneeSearch(from: 100, highest: 100_000)
        search.record(kept: false, doubt: "late")
        #expect(search.next == .run(100))
        search.record(kept: true, doubt: nil)
        #expect(search.next == .run(200))
    }

    @Test func `a bound that does not hold again is looked for anew`() {
        var search = KneeSearch(from: 1000, highest: 100_000)
        var runs = 0
        while case .run(let rate) = search.next {
            runs += 1
            // The first ten runs see a server that is better than it later is.
            search.record(kept: rate < (runs < 8 ? 1500 : 1200), doubt: nil)
        }
        guard case .end(.found(let good, let bad)) = search.next else {
            Issue.record("found nothing: \(search.next)")
            return
        }
        #expect(good < 1200 && bad >= 1200)
    }

    @Test func `a server that is never twice the same has no knee`() {
        var search = KneeSearch(from: 1000, highest: 100_000)
        var results: [Double: Bool] = [:]
        while case .run(let rate) = search.next {
            let isKept = results[rate].map { !$0 } ?? (rate < 1500)
            results[rate] = isKept
            search.record(kept: isKept, doubt: nil)
        }
        guard case .end(.unsteady) = search.next else {
            Issue.record("found something: \(search.next)")
            return
        }
    }
}

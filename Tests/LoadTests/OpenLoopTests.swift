import CloakroomLoad
import CloakroomLoop
import CloakroomTestSupport
import Testing

@LoopActor @Suite(.onLoop)
struct OpenLoopTests {
    private let clock = VirtualClock()
    private let mix = RequestMix([.init(.health, weight: 1)])

    private func run(
        _ schedule: LoadSchedule, against server: some LoadTarget, maximumOpen: Int = 100_000
    ) -> OpenLoop {
        let loop = OpenLoop(schedule, mix, target: server, clock: clock, maximumOpen: maximumOpen)
        var isDone = false
        loop.begin { isDone = true }
        clock.runOut()
        #expect(isDone)
        return loop
    }

    private func expect(_ latency: LatencyHistogram, _ percent: Double, milliseconds: Double) {
        let found = Double(latency.percentile(percent)) / 1e6
        #expect(abs(found - milliseconds) <= milliseconds * 0.02, "p\(percent) is \(found) ms")
    }

    @Test func `a constant latency is every percentile`() {
        let server = VirtualServer(clock) { _, _ in .milliseconds(20) }
        let all = run(LoadSchedule([.steady(500, seconds: 20)]), against: server).tally.phases[0].all
        #expect(all.due == 10_000)
        #expect(all.latency.count == 10_000)
        for percent in [1, 50, 99, 99.9, 100] { expect(all.latency, percent, milliseconds: 20) }
    }

    @Test func `of two latencies each is where it belongs`() {
        // Every tenth request takes long.
        let server = VirtualServer(clock) { _, number in .milliseconds(number % 10 == 0 ? 80 : 5) }
        let latency = run(LoadSchedule([.steady(1000, seconds: 10)]), against: server).tally.phases[0].all.latency
        for percent in [10.0, 50, 89] { expect(latency, percent, milliseconds: 5) }
        for percent in [91.0, 99, 99.9] { expect(latency, percent, milliseconds: 80) }
    }

    @Test func `a server that stalls for one second in ten is seen to do so by all who would have come`() {
        // A request that comes within the stall waits for its end; one in ten does, evenly spread over the second. A closed
        // loop of a few connections would send as many requests within it as it has connections.
        let second = UInt64(1_000_000_000)
        let server = VirtualServer(clock) { now, _ in
            let phase = now % (10 * second)
            return .milliseconds(2) + (phase < second ? second - phase : 0)
        }
        let tally = run(LoadSchedule([.steady(1000, seconds: 60)]), against: server).tally
        let latency = tally.phases[0].all.latency
        expect(latency, 50, milliseconds: 2)
        expect(latency, 89, milliseconds: 2)
        expect(latency, 95, milliseconds: 502)
        expect(latency, 99, milliseconds: 902)
        expect(latency, 99.9, milliseconds: 992)
        #expect(tally.phases[0].mostOpen >= 1000)
        // Over time: p99 stands out in the seconds of the stalls, and nowhere else.
        let stalled = tally.slices.filter { $0.group.latency.percentile(99) > second / 10 }
        #expect(Double(stalled.count) * tally.sliceSeconds == 6)
    }

    @Test func `requests are sent at their times while none comes back`() {
        let server = VirtualServer(clock) { _, _ in .milliseconds(60_000) }
        let loop = run(LoadSchedule([.steady(100, seconds: 10)]), against: server)
        #expect(server.requests == Array(0..<1000))
        #expect(loop.tally.phases[0].mostOpen == 1000)
        #expect(loop.tally.phases[0].lateness.maximum == 0)
    }

    @Test func `a generator that is woken late says by how much, and the latency counts from when it was due`() throws {
        clock.lateness = { _ in .milliseconds(7) }
        let server = VirtualServer(clock) { _, _ in .milliseconds(10) }
        let schedule = LoadSchedule([.steady(50, seconds: 10)])
        let loop = run(schedule, against: server)
        expect(loop.tally.phases[0].lateness, 99, milliseconds: 7)
        expect(loop.tally.phases[0].all.latency, 99, milliseconds: 17)
        let doubt = try #require(loop.tally.steps(schedule, mix)[0].doubt)
        #expect(doubt.hasPrefix("the generator was late: 1 % of the requests were sent more than"))
    }

    @Test func `a little lateness beside long latencies is no doubt`() {
        clock.lateness = { _ in .milliseconds(3) }
        let server = VirtualServer(clock) { _, _ in .milliseconds(100) }
        let schedule = LoadSchedule([.steady(50, seconds: 10)])
        #expect(run(schedule, against: server).tally.steps(schedule, mix)[0].doubt == nil)
    }

    @Test func `where requests wait for a connection the numbers are doubtful, and latencies hold the wait`() throws {
        // Two connections of 100 ms carry half of 40 a second: the last request has one after 9.925 s.
        let server = VirtualServer(clock, connections: 2) { _, _ in .milliseconds(100) }
        let schedule = LoadSchedule([.steady(40, seconds: 5)])
        let step = run(schedule, against: server).tally.steps(schedule, mix)[0]
        #expect(step.all.latency.count == 200)
        #expect(step.waits.count == 200)
        expect(step.waits, 100, milliseconds: 4950)
        expect(step.all.latency, 100, milliseconds: 5050)
        #expect(!step.isLate)
        let doubt = try #require(step.doubt)
        #expect(doubt.hasPrefix("all 2 connections were busy: 1 % of the requests waited more than 4."))
        #expect(doubt.hasSuffix(" s for one; raise --connections, unless the server is at its limit"))
    }

    @Test(arguments: [(99, false), (100.5, false), (102, true)] as [(Double, Bool)])
    func `a wait for a connection of up to a tenth of p99 is no doubt`(milliseconds: Double, isDoubtful: Bool) {
        // Each of ten requests waits for what those before it have taken beyond 100 ms: the last one for 0, 4.5 and 18 ms.
        let server = VirtualServer(clock, connections: 1) { _, _ in .milliseconds(milliseconds) }
        let schedule = LoadSchedule([.steady(10, seconds: 1)])
        let step = run(schedule, against: server).tally.steps(schedule, mix)[0]
        #expect((step.doubt != nil) == isDoubtful)
    }

    @Test func `what is not sent because too many are open is an error, and makes the numbers doubtful`() {
        let server = VirtualServer(clock) { _, _ in .milliseconds(5000) }
        let schedule = LoadSchedule([.steady(100, seconds: 2)])
        let loop = run(schedule, against: server, maximumOpen: 150)
        let step = loop.tally.steps(schedule, mix)[0]
        #expect(step.all.failures == [.notSent: 50])
        #expect(step.all.errors == 50)
        #expect(step.all.statuses == [200: 150])
        #expect(step.doubt?.contains("50 of 200 requests were not sent") == true)
    }

    @Test func `outcomes are counted by status, by failure and by route`() {
        let mix = RequestMix([.init(.vend, weight: 3), .init(.renew, weight: 1)])
        let server = VirtualServer(clock) { number in
            guard mix.share(of: number) == 1 else { return .response(status: 200) }
            return number % 2 == 0 ? .response(status: 503) : .failure(.timeout)
        } latency: { _, _ in
            .milliseconds(1)
        }
        let schedule = LoadSchedule([.steady(1000, seconds: 4)])
        let loop = OpenLoop(schedule, mix, target: server, clock: clock, maximumOpen: 1000)
        loop.begin {}
        clock.runOut()
        let step = loop.tally.steps(schedule, mix)[0]
        let (vend, renew) = (step.parts[0].group, step.parts[1].group)
        #expect(vend.due + renew.due == 4000)
        #expect(abs(vend.due - 3000) < 150)
        #expect(vend.errors == 0)
        #expect(renew.errors == renew.due)
        #expect((renew.statuses[503] ?? 0) + (renew.failures[.timeout] ?? 0) == renew.due)
        #expect(step.all.good == vend.due)
    }

    @Test func `the first phase warms up and is not among the steps`() {
        let server = VirtualServer(clock) { now, _ in .milliseconds(now < 2_000_000_000 ? 300 : 4) }
        let schedule = LoadSchedule.steps([100, 200], seconds: 5, warmUp: 2)
        let steps = run(schedule, against: server).tally.steps(schedule, mix)
        #expect(steps.map(\.rate) == [100, 200])
        #expect(steps.map(\.all.due) == [500, 1000])
        for step in steps { expect(step.all.latency, 100, milliseconds: 4) }
        #expect(abs(steps[0].throughput - 100) < 1)
    }

    @Test func `a run that is stopped sends no more and waits for what is open`() {
        let server = VirtualServer(clock) { _, _ in .milliseconds(500) }
        let loop = OpenLoop(
            LoadSchedule([.steady(100, seconds: 60)]), mix, target: server, clock: clock, maximumOpen: 1000)
        var isDone = false
        loop.begin { isDone = true }
        clock.at(clock.now + 995_000_000) { loop.stop() }
        clock.runOut()
        #expect(isDone)
        #expect(loop.tally.wasStopped)
        #expect(server.requests.count == 100)
        #expect(loop.tally.phases[0].all.latency.count == 100)
    }

    @Test func `an overloaded server's throughput is what it can do, not what was offered`() {
        let server = VirtualQueue(clock, requestsPerSecond: 100)
        let schedule = LoadSchedule([.steady(200, seconds: 10)])
        let step = run(schedule, against: server).tally.steps(schedule, mix)[0]
        #expect(abs(step.throughput - 100) < 1)
        // The queue grows until the end: its last request waits for a thousand others.
        expect(step.all.latency, 100, milliseconds: 10_005)
    }
}

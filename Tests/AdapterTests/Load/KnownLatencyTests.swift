import CloakroomLoad
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomCommand

/// The whole generator, on the system's clock, against a server of which every latency is known.
///
/// What disturbs the machine disturbs a run; so each has three attempts.
@LoopActor @Suite(.onLoop, .serialized, .timeLimit(.minutes(3)))
struct KnownLatencyTests {
    private struct Expected {
        let percent: Double
        let milliseconds: Double
    }

    private func run(
        _ server: KnownLatencyServer, _ way: LoadWay, rate: Double, seconds: Double
    ) async throws -> LoadStep {
        let mix = RequestMix([.init(.health, weight: 1)])
        let target = way.target(server.url, mix)
        let schedule = LoadSchedule.steps([rate], seconds: seconds, warmUp: 1)
        let loop = OpenLoop(schedule, mix, target: target, clock: try SystemLoadClock(), maximumOpen: 10_000)
        await loop.run()
        return try #require(loop.tally.steps(schedule, mix).first)
    }

    private func expect(
        _ expected: [Expected], _ way: LoadWay = .plain, rate: Double, seconds: Double,
        latency: @escaping @Sendable (UInt64) -> UInt64
    ) async throws {
        var found: [String] = []
        for _ in 1...3 {
            let step = try await run(try KnownLatencyServer(latency: latency), way, rate: rate, seconds: seconds)
            #expect(step.all.due == Int(rate * seconds))
            #expect(step.all.errors == 0)
            let values = expected.map { Double(step.all.latency.percentile($0.percent)) / 1e6 }
            if zip(expected, values).allSatisfy({ abs($1 - $0.milliseconds) <= $0.milliseconds * 0.02 }) { return }
            found.append(zip(expected, values).map { "p\($0.percent) \($1) ms" }.joined(separator: ", "))
        }
        Issue.record("in no run right to 2 %: \(found)")
    }

    @Test(arguments: LoadWay.allCases)
    func `percentiles of a constant latency are right to 2 %`(way: LoadWay) async throws {
        let expected = [10, 50, 90].map { Expected(percent: $0, milliseconds: 120) }
        try await expect(expected, way, rate: 150, seconds: 5) { _ in 120_000_000 }
    }

    @Test func `percentiles of two latencies are right to 2 %`() async throws {
        // Within every second, requests of the first 800 ms take 100 ms, those of the rest 300 ms.
        let expected = [
            Expected(percent: 20, milliseconds: 100), Expected(percent: 70, milliseconds: 100),
            Expected(percent: 85, milliseconds: 300), Expected(percent: 95, milliseconds: 300),
        ]
        try await expect(expected, rate: 150, seconds: 5) { now in
            now % 1_000_000_000 < 800_000_000 ? 100_000_000 : 300_000_000
        }
    }

    @Test func `a stall of one second in ten is in the percentiles as it was for all who came`() async throws {
        // One request in ten comes within the stall and waits for its end: evenly from 0 to 1 s, and 100 ms. In a closed loop
        // only one of each connection would, and with few of them p95 would be 100 ms.
        let expected = [
            Expected(percent: 50, milliseconds: 100), Expected(percent: 80, milliseconds: 100),
            Expected(percent: 95, milliseconds: 600), Expected(percent: 99, milliseconds: 1000),
        ]
        try await expect(expected, rate: 150, seconds: 20) { now in
            let phase = now % 10_000_000_000
            return 100_000_000 + (phase < 1_000_000_000 ? 1_000_000_000 - phase : 0)
        }
    }
}

import CloakroomJSON
import CloakroomLoad
import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Testing

@LoopActor @Suite(.onLoop)
struct LoadReportTests {
    private func report(
        bars: [String] = [], rates: [Double] = [100, 200],
        outcome: @escaping (Int) -> LoadOutcome = { _ in .response(status: 200) },
        latency: UInt64 = .milliseconds(20), knee: KneeSearch.Outcome? = nil, wasStopped: Bool = false,
        lateness: UInt64 = 0
    ) -> LoadReport {
        let clock = VirtualClock()
        clock.lateness = { _ in lateness }
        let mix = RequestMix([.init(.vend, weight: 3), .init(.renew, weight: 1)])
        let schedule = LoadSchedule.steps(rates, seconds: 5)
        let loop = OpenLoop(
            schedule, mix, target: VirtualServer(clock, outcome: outcome) { _, _ in latency }, clock: clock,
            maximumOpen: 10_000)
        loop.begin {}
        clock.runOut()
        var worker = WorkerUsage(process: 42)
        worker.samples = [
            .init(second: 1, cpu: 0.25, residentBytes: 20_000_000),
            .init(second: 2, cpu: 0.75, residentBytes: 30_000_000),
        ]
        return LoadReport(
            .init(
                target: "https://a.example?<x>&\"y\"", speaks: "HTTP/1.1", mix: mix.text, tokens: 10,
                started: "2026-11-28T00:00:00Z"),
            steps: loop.tally.steps(schedule, mix), moments: loop.tally.moments(),
            generator: .init(seconds: 10, userSeconds: 0.06, systemSeconds: 0.09, requests: 1500), workers: [worker],
            bars: bars.compactMap { LoadBar($0) }, knee: knee, wasStopped: wasStopped)
    }

    @Test func `its result is what a program has to know`() {
        #expect(report().result == .met)
        #expect(report(bars: ["p99>50ms", "errors>0", "vend:p50>30ms"]).result == .met)
        #expect(report(bars: ["p99>10ms"]).result == .broken)
        #expect(report(bars: ["throughput<300"]).result == .broken)
        #expect(report(outcome: { _ in .failure(.unreachable) }).result == .failed)
        #expect(report(outcome: { _ in .failure(.timeout) }, lateness: .milliseconds(30)).result == .failed)
        #expect(report(wasStopped: true).result == .stopped)
        #expect(report(lateness: .milliseconds(30)).result == .doubtful)
        #expect(report(bars: ["p99>10ms"], knee: .found(good: 1, bad: 2)).result == .met)
        #expect(report(knee: .generatorLimit(10, "late")).result == .doubtful)
        #expect(report(knee: .everyRateBroken(10)).result == .failed)
        #expect(report(knee: .limitsReached(10)).result == .failed)
        #expect(report(knee: .tokensRefused(10)).result == .failed)
    }

    @Test func `the text has a line for each step, route, bar and worker`() {
        let text = report(bars: ["errors>1%"]) { $0 % 100 == 3 ? .response(status: 429) : .response(status: 200) }.text
        #expect(text.hasPrefix("https://a.example?<x>&\"y\" over HTTP/1.1: vend=3,renew=1, 10 tokens, 10.0 s\n"))
        // Until the last response, which comes 20 ms after the step's end.
        #expect(text.contains(" 98.8/s   500       5  "))
        #expect(text.contains("197.4/s  1000      10  "))
        #expect(text.contains("responses  200: 1485, 429: 15\n"))
        #expect(text.contains("429 is a rate limit"))
        #expect(text.contains("worker     process 42: 50 % of a core, 30.0 MB"))
        #expect(text.contains("errors>1%  met: 1.000 % at 100/s"))
        #expect(text.contains("100.0 µs a request, 40.0 of them not in the kernel"))
        #expect(!text.contains("numbers not valid"))
        #expect(
            report(lateness: .milliseconds(30)).text.contains("numbers not valid: at 100/s: the generator was late"))
    }

    @Test func `a bar of a route that had no request is not measured, and broken`() throws {
        // One request, of one of the two routes.
        let report = report(bars: ["vend:p99>10s", "renew:p99>10s"], rates: [0.2])
        #expect(report.result == .broken)
        #expect(report.verdicts.count { $0.value == nil } == 1)
        #expect(report.text.contains("p99>10s  broken: not measured at 0.20/s"))
        #expect(report.text.contains("p99>10s  met: "))
        #expect(report.html.contains("<td>not measured</td><td>broken</td>"))
        let json = try #require(try JSON(parsing: Array(report.json.indented.utf8)).object)
        let bars = try #require(json["bars"]?.array)
        #expect(Set(bars.map { $0.object?["broken"]?.bool }) == [true, false])
        #expect(bars.contains { $0.object?["value"]?.string == "not measured" })
    }

    @Test func `the JSON can be read, and has the numbers`() throws {
        let report = report(bars: ["p99>10ms"])
        let json = try #require(try JSON(parsing: Array(report.json.indented.utf8)).object)
        #expect(json["result"]?.string == "broken")
        #expect(json["valid"]?.bool == true)
        let steps = try #require(json["steps"]?.array)
        #expect(steps.map { $0.object?["rate"]?.number } == [100, 200])
        let p99 = try #require(steps[0].object?["all"]?.object?["latency"]?.object?["p99"]?.number)
        #expect(abs(p99 - 20) <= 0.4)
        #expect(steps[1].object?["all"]?.object?["statuses"]?.object?["200"]?.integer == 1000)
        #expect(json["bars"]?.array?.first?.object?["broken"]?.bool == true)
        #expect(json["generator"]?.object?["userMicrosecondsPerRequest"]?.number == 40)
        #expect(json["generator"]?.object?["cpuMicrosecondsPerRequest"]?.number == 100)
        #expect(json["workers"]?.array?.first?.object?["mostBytes"]?.integer == 30_000_000)
        #expect(json["overTime"]?.array?.count == report.moments.count)
    }

    @Test func `the page is well formed, holds every plot, and fetches nothing`() throws {
        let html = report(bars: ["p99>50ms"]) { $0 % 9 == 0 ? .failure(.timeout) : .response(status: 200) }.html
        for title in [
            "Latency, by when a request was due", "How many requests took how long",
            "Requests due and responses, over time",
            "Good responses against the load that was offered", "Errors, by when a request was due",
            "CPU of the workers",
            "Memory of the workers",
        ] {
            #expect(html.contains(">\(title)</text>"))
        }
        #expect(html.contains("https://a.example?&lt;x&gt;&amp;&quot;y&quot;"))
        for word in ["src=", "href=", "url(", "@import", "<script", "nan", "inf,"] { #expect(!html.contains(word)) }
        // Each element that is opened is closed.
        for tag in ["svg", "table", "figure", "text", "p", "pre", "body", "html", "tr", "td"] {
            #expect(
                html.components(separatedBy: "<\(tag)>").count + html.components(separatedBy: "<\(tag) ").count - 2
                    == html.components(separatedBy: "</\(tag)>").count - 1, "\(tag)")
        }
    }

    @Test func `one step without errors has no plot of errors and none against the offer`() {
        let page = report(rates: [100]).html
        #expect(page.components(separatedBy: "<svg").count - 1 == 5)
    }
}

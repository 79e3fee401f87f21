import CloakroomLoad
import Testing

struct LoadBarTests {
    private static let bars: [(String, LoadBar.Metric, Double)] = [
        ("p99>50ms", .percentile(99), 50e6), ("p99.9>1.5s", .percentile(99.9), 1.5e9),
        ("p50 > 800us", .percentile(50), 8e5), ("errors>0.1%", .errorShare, 0.001), ("errors>0", .errorCount, 0),
        ("throughput<900", .throughput, 900), ("max>2s", .maximum, 2e9), ("mean>3ms", .mean, 3e6),
    ]

    @Test(arguments: bars)
    func `reads what a run must not pass`(text: String, metric: LoadBar.Metric, limit: Double) throws {
        let bar = try #require(LoadBar(text))
        #expect(bar.metric == metric)
        #expect(abs(bar.limit - limit) <= limit * 1e-12)
        #expect(bar.isUpper == text.contains(">"))
        #expect(bar.route == nil)
    }

    @Test func `a bar may be one route's`() throws {
        let bar = try #require(LoadBar("renew-one:p50>80ms"))
        #expect(bar.route == .renewOne)
        #expect(bar.metric == .percentile(50))
    }

    @Test(arguments: [
        "", "p99", "p99=50ms", "p99>50", "p0>1ms", "p101>1ms", "q99>1ms", "errors>x%", "errors>-1", "throughput<nan",
        "mean>", "nothing:p99>1ms", "p99>infs", "errors>>1",
    ])
    func `refuses what is no bar`(text: String) {
        #expect(LoadBar(text) == nil)
    }

    @Test(arguments: [
        "p99>1us", "p99>10s", "mean>1s", "max>1s", "errors>0%", "errors>0", "throughput<1", "throughput>1",
        "renew:p50>1s",
    ])
    func `without a request a bar is not measured, which breaks it`(text: String) throws {
        let bar = try #require(LoadBar(text))
        let value = bar.value(of: LoadTally.Group(), seconds: 10)
        #expect(value == nil && bar.isBroken(by: value))
        #expect(bar.words(value) == "not measured")
    }

    @Test func `requests that were not sent have errors, and no latency`() throws {
        var group = LoadTally.Group()
        group.due = 10
        group.errors = 10
        #expect(try #require(LoadBar("p99>1s")).value(of: group, seconds: 1) == nil)
        #expect(try #require(LoadBar("errors>50%")).value(of: group, seconds: 1) == 1)
        #expect(try #require(LoadBar("throughput<1")).value(of: group, seconds: 1) == 0)
    }

    @Test func `a value at the limit is no failure, one beyond it is`() throws {
        var group = LoadTally.Group()
        group.due = 1000
        group.errors = 1
        let share = try #require(LoadBar("errors>0.1%"))
        #expect(!share.isBroken(by: share.value(of: group, seconds: 1)))
        group.errors = 2
        #expect(share.isBroken(by: share.value(of: group, seconds: 1)))
        #expect(share.words(share.value(of: group, seconds: 1)) == "0.200 %")
        let throughput = try #require(LoadBar("throughput<100"))
        #expect(throughput.isBroken(by: throughput.value(of: group, seconds: 10)))
        #expect(!throughput.isBroken(by: throughput.value(of: group, seconds: 9.98)))
    }
}

/// What one step of a run measured: all requests that were due within it.
package struct LoadStep: Sendable {
    package struct Part: Sendable {
        package let route: LoadRoute
        package let group: LoadTally.Group
    }

    /// Requests per second, as they were to be sent.
    package let rate: Double
    /// From the step's beginning to its end, or to the last response if that came later.
    package let seconds: Double
    package let all: LoadTally.Group
    package let parts: [Part]
    /// How much later than they should requests were sent.
    package let lateness: LatencyHistogram
    /// How long requests waited for a connection.
    package let waits: LatencyHistogram
    /// ``LoadTarget/connections``
    package let connections: Int?
    package let mostOpen: Int

    package init(
        rate: Double, seconds: Double, parts: [Part], lateness: LatencyHistogram, waits: LatencyHistogram,
        connections: Int?, mostOpen: Int
    ) {
        self.rate = rate
        self.seconds = seconds
        self.parts = parts
        self.lateness = lateness
        self.waits = waits
        self.connections = connections
        self.mostOpen = mostOpen
        all = parts.reduce(into: LoadTally.Group()) { $0.add($1.group) }
    }

    /// Good responses per second.
    package var throughput: Double { Double(all.good) / seconds }

    /// Whether p99 is more the generator's than the server's.
    ///
    /// A latency counts from when a request was to be sent, so it holds the generator's lateness. That is left in, up to a
    /// tenth of p99, and up to 1 ms in any case.
    package var isLate: Bool { makesLatency(lateness) }

    /// - Parameter part: of the latencies.
    private func makesLatency(_ part: LatencyHistogram) -> Bool {
        part.percentile(99) > max(1_000_000, all.latency.percentile(99) / 10)
    }

    /// How long requests took on average once they had a connection, in nanoseconds.
    var meanOnConnection: Double { Double(all.latency.mean) - Double(lateness.mean) - Double(waits.mean) }

    /// Why its numbers say less about the server than about the generator; `nil` when they do not.
    package var doubt: String? {
        if isLate {
            let late = lateness.percentile(99).durationText
            return "the generator was late: 1 % of the requests were sent more than \(late) after their time"
        }
        // Before what was not sent: where requests wait for connections, many are open as well.
        if let connections, makesLatency(waits) {
            let wait = waits.percentile(99).durationText
            return "all \(connections) connections were busy: 1 % of the requests waited more than \(wait) for one;"
                + " raise --connections, unless the server is at its limit"
        }
        let unsent = all.failures[.notSent] ?? 0
        guard unsent > 0 else { return nil }
        return "the generator was late: \(unsent) of \(all.due) requests were not sent, since too many were open"
    }

    /// - Returns: the bars, in their order; one of a route that is not in the mix is left out.
    package func verdicts(_ bars: [LoadBar]) -> [LoadVerdict] {
        bars.compactMap { bar in
            let group = bar.route == nil ? all : parts.first { $0.route == bar.route }?.group
            guard let group else { return nil }
            return LoadVerdict(bar: bar, rate: rate, value: bar.value(of: group, seconds: seconds))
        }
    }
}

extension LoadTally.Group {
    /// Responses that are no errors.
    package var good: Int { due - errors }
}

extension LoadTally {
    /// The measured phases; those that a run which was stopped did not reach are left out.
    package func steps(_ schedule: LoadSchedule, _ mix: RequestMix) -> [LoadStep] {
        zip(schedule.phases, phases).enumerated().compactMap { index, pair in
            let (planned, counted) = pair
            guard planned.isMeasured, counted.all.due > 0 else { return nil }
            let start = schedule.start(ofPhase: index)
            return LoadStep(
                rate: planned.rates.end, seconds: max(planned.seconds, Double(counted.lastEnd) / 1e9 - start),
                parts: zip(mix.shares, counted.shares).map { LoadStep.Part(route: $0.route, group: $1) },
                lateness: counted.lateness, waits: counted.waits, connections: connections,
                mostOpen: counted.mostOpen)
        }
    }
}

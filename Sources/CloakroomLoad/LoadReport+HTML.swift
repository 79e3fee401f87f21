extension LoadReport {
    /// One page with plots, which needs no network.
    package var html: String {
        let figures = plots.compactMap(\.svg).map { "<figure>\($0)</figure>" }.joined(separator: "\n")
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <title>Load on \(run.target.htmlText)</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            <h1>Load on \(run.target.htmlText)</h1>
            <p>\(summary.htmlText)</p>
            \(notices)
            \(stepTable)
            \(verdictTable)
            \(figures)
            \(statusTable)
            <h2>As text</h2>
            <pre>\(text.htmlText)</pre>
            </body>
            </html>

            """
    }

    private var summary: String {
        "\(run.started): \(run.mix) over \(run.speaks), \(run.tokens) tokens, \(generator.requests) responses in"
            + " \(generator.seconds.fixed(1)) s"
    }

    private var notices: String {
        let stop = wasStopped ? ["The run was stopped before its end."] : []
        return (doubts.map { "Numbers not valid: \($0)" } + stop).map { "<p class=\"bad\">\($0.htmlText)</p>" }
            .joined(separator: "\n")
    }

    // MARK: Tables

    private var stepTable: String {
        let names = ["offered", "good", "requests", "errors", "p50", "p90", "p99", "p99.9", "max", "late, p99"]
        return Self.table(
            names,
            steps.map { step in
                ["\(step.rate.short)/s", "\(step.throughput.fixed(1))/s", "\(step.all.due)", "\(step.all.errors)"]
                    + Self.percentiles.map { step.all.latency.percentile($0).durationText }
                    + [step.lateness.percentile(99).durationText]
            })
    }

    private var verdictTable: String {
        let rows = verdicts.map { verdict in
            [
                verdict.bar.text, "\(verdict.rate.short)/s", verdict.bar.words(verdict.value),
                verdict.isBroken ? "broken" : "met",
            ]
        }
        let found = knee.map { "<p><strong>Knee:</strong> \($0.text.htmlText)</p>" } ?? ""
        return (rows.isEmpty ? "" : Self.table(["bar", "at", "value", ""], rows)) + found
    }

    private var statusTable: String {
        let all = all
        let statuses = all.statuses.sorted { $0.key < $1.key }.map { ["status \($0.key)", "\($0.value)"] }
        let failures = LoadFailure.allCases.compactMap { failure in
            all.failures[failure].map { [failure.rawValue, "\($0)"] }
        }
        return Self.table(["outcome", "requests"], statuses + failures)
    }

    private static func table(_ head: [String], _ rows: [[String]]) -> String {
        let cells = { (cells: [String], tag: String) in
            "<tr>" + cells.map { "<\(tag)>\($0.htmlText)</\(tag)>" }.joined() + "</tr>"
        }
        return "<table>\n" + ([cells(head, "th")] + rows.map { cells($0, "td") }).joined(separator: "\n") + "\n</table>"
    }

    // MARK: Plots

    private var plots: [Plot] {
        [latencyOverTime, histogram, throughputOverTime, throughputByOffer, errorsOverTime].compactMap(\.self)
            + workerPlots
    }

    private var latencyOverTime: Plot {
        let series = { (name: String, value: (LatencyHistogram) -> UInt64) in
            Plot.Series(
                name: name,
                points: moments.filter { $0.group.latency.count > 0 }.map {
                    ($0.second + $0.width / 2, Double(value($0.group.latency)) / 1e6)
                })
        }
        return Plot(
            title: "Latency, by when a request was due", x: ("seconds", .linear), y: ("milliseconds", .logarithmic),
            lines: [
                series("p50") { $0.percentile(50) }, series("p99") { $0.percentile(99) }, series("max") { $0.maximum },
            ])
    }

    /// Buckets of the histogram together, some twenty for each power of ten.
    private var histogram: Plot {
        let latency = all.latency
        var bars: [(from: Double, to: Double, height: Double)] = []
        for bucket in latency.buckets {
            let share = Double(bucket.count) / Double(latency.count) * 100
            let (from, to) = (Double(bucket.range.lowerBound) / 1e6, Double(bucket.range.upperBound) / 1e6)
            if let last = bars.last, to <= last.from * 1.122 {
                bars[bars.count - 1] = (last.from, to, last.height + share)
            } else {
                bars.append((from, to, share))
            }
        }
        return Plot(
            title: "How many requests took how long", x: ("milliseconds", .logarithmic),
            y: ("% of the requests", .linear),
            bars: bars)
    }

    private var throughputOverTime: Plot {
        let series = { (name: String, value: (Moment) -> Int) in
            // The last moment is as long as the last responses took.
            Plot.Series(
                name: name, points: moments.dropLast().map { ($0.second + $0.width / 2, Double(value($0)) / $0.width) })
        }
        return Plot(
            title: "Requests due and responses, over time", x: ("seconds", .linear), y: ("per second", .linear),
            lines: [series("due") { $0.group.due }, series("responses") { $0.ended }])
    }

    private var throughputByOffer: Plot? {
        guard Set(steps.map(\.rate)).count > 1 else { return nil }
        let sorted = steps.sorted { $0.rate < $1.rate }
        return Plot(
            title: "Good responses against the load that was offered", x: ("offered, per second", .linear),
            y: ("per second", .linear),
            lines: [
                Plot.Series(name: "offered", points: sorted.map { ($0.rate, $0.rate) }),
                Plot.Series(name: "good", points: sorted.map { ($0.rate, $0.throughput) }),
            ])
    }

    private var errorsOverTime: Plot? {
        guard moments.contains(where: { $0.group.errors > 0 }) else { return nil }
        return Plot(
            title: "Errors, by when a request was due", x: ("seconds", .linear), y: ("per second", .linear),
            lines: [
                Plot.Series(
                    name: "errors",
                    points: moments.map { ($0.second + $0.width / 2, Double($0.group.errors) / $0.width) })
            ])
    }

    private var workerPlots: [Plot] {
        guard workers.contains(where: { !$0.samples.isEmpty }) else { return [] }
        let series = { (value: (WorkerUsage.Sample) -> Double) in
            workers.map { worker in
                Plot.Series(name: "process \(worker.process)", points: worker.samples.map { ($0.second, value($0)) })
            }
        }
        return [
            Plot(
                title: "CPU of the workers", x: ("seconds", .linear), y: ("% of a core", .linear),
                lines: series { $0.cpu * 100 }),
            Plot(
                title: "Memory of the workers", x: ("seconds", .linear), y: ("MB resident", .linear),
                lines: series { Double($0.residentBytes) / 1e6 }),
        ]
    }

    /// Eight colours that are told apart without red and green; more series begin anew without a line.
    private static let style: String = {
        let colours = ["#2563a8", "#d9822b", "#7a5195", "#3a9a8c", "#b5446e", "#8a7a2f", "#4b4b4b", "#66a0d9"]
        let series = colours.enumerated().map { index, colour in
            ".s\(index){fill:none;stroke:\(colour);stroke-width:1.6}.f\(index){fill:\(colour)}"
        }
        return """
            body{font:15px/1.45 system-ui,sans-serif;max-width:820px;margin:24px auto;padding:0 16px;color:#222}
            table{border-collapse:collapse;margin:14px 0;font-variant-numeric:tabular-nums}
            th,td{padding:3px 10px;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}
            th:first-child,td:first-child{text-align:left}
            figure{margin:18px 0}svg{width:100%;height:auto}
            pre{overflow-x:auto;background:#f5f5f5;padding:10px}
            .bad{background:#fbe3e0;border-left:4px solid #b3261e;padding:8px 12px}
            .grid{stroke:#e3e3e3}.title{font-size:14px;font-weight:600}.tick,.label{font-size:11px;fill:#555}
            .middle{text-anchor:middle}.end{text-anchor:end}
            \(series.joined())
            """
    }()
}

extension LoadReport {
    /// For a terminal.
    package var text: String {
        var blocks = [head, table]
        if parts.count > 1 || !troubles.isEmpty { blocks.append((parts.count > 1 ? parts : []) + troubles) }
        blocks.append(usage)
        let judgement = verdictLines + kneeLines + doubtLines
        if !judgement.isEmpty { blocks.append(judgement) }
        return blocks.map { $0.joined(separator: "\n") }.joined(separator: "\n\n")
    }

    private var head: [String] {
        let tokens = run.tokens == 0 ? "" : ", \(run.tokens) token\(run.tokens == 1 ? "" : "s")"
        return ["\(run.target) over \(run.speaks): \(run.mix)\(tokens), \(generator.seconds.fixed(1)) s"]
    }

    private var table: [String] {
        let rows = steps.map { step in
            [
                "\(step.rate.short)/s", "\(step.throughput.fixed(1))/s", "\(step.all.due)", "\(step.all.errors)",
            ] + Self.percentiles.map { step.all.latency.percentile($0).durationText }
        }
        return Self.aligned([["offered", "good", "sent", "errors", "p50", "p90", "p99", "p99.9", "max"]] + rows)
    }

    /// By route, over all steps.
    private var parts: [String] {
        guard let first = steps.first, first.parts.count > 1 else { return [] }
        let rows = first.parts.indices.map { index in
            let group = steps.reduce(into: LoadTally.Group()) { $0.add($1.parts[index].group) }
            return [first.parts[index].route.rawValue, "\(group.due)", "\(group.errors)"]
                + Self.percentiles.map { group.latency.percentile($0).durationText }
        }
        return Self.aligned([["route", "sent", "errors", "p50", "p90", "p99", "p99.9", "max"]] + rows)
    }

    private var troubles: [String] {
        let all = all
        guard all.errors > 0 else { return [] }
        let statuses = all.statuses.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        let failures = LoadFailure.allCases.compactMap { failure in
            all.failures[failure].map { "\(failure.rawValue): \($0)" }
        }
        var lines = ["responses  \((statuses + failures).joined(separator: ", "))"]
        if all.statuses[429] != nil {
            lines.append("           429 is a rate limit: more --users and --devices, or higher limits in the settings")
        }
        if all.statuses[401] != nil {
            lines.append("           401: the tokens are not such as the settings of the workers accept")
        }
        return lines
    }

    private var usage: [String] {
        let lateness = steps.reduce(into: LatencyHistogram()) { $0.add($1.lateness) }
        let share = generator.seconds > 0 ? generator.cpuSeconds / generator.seconds * 100 : 0
        let late =
            "late by \(lateness.percentile(50).durationText) at p50, \(lateness.percentile(99).durationText) at p99"
        let cost =
            "\(share.fixed(0)) % of a core, \(generator.cpuMicrosecondsPerRequest.fixed(1)) µs a request,"
            + " \(generator.userMicrosecondsPerRequest.fixed(1)) of them not in the kernel"
        return ["generator  \(late); \(cost)"]
            + workers.map { worker in
                let memory = (Double(worker.mostBytes) / 1e6).fixed(1)
                return
                    "worker     process \(worker.process): \((worker.meanCPU * 100).fixed(0)) % of a core, \(memory) MB"
            }
    }

    private var verdictLines: [String] {
        verdicts.map { verdict in
            let word = verdict.isBroken ? "broken" : "met"
            return "\(verdict.bar.text)  \(word): \(verdict.bar.words(verdict.value)) at \(verdict.rate.short)/s"
        }
    }

    private var kneeLines: [String] { knee.map { ["knee       \($0.text)"] } ?? [] }

    private var doubtLines: [String] {
        let stop = wasStopped ? ["the run was stopped: it is not the one that was asked for"] : []
        return doubts.map { "numbers not valid: \($0)" } + stop
    }

    /// Of all steps.
    var all: LoadTally.Group { steps.reduce(into: LoadTally.Group()) { $0.add($1.all) } }

    static let percentiles = [50, 90, 99, 99.9, 100.0]

    /// The first column to the left, the others to the right.
    private static func aligned(_ rows: [[String]]) -> [String] {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            zip(row, widths).enumerated().map { index, cell in
                let space = String(repeating: " ", count: cell.1 - cell.0.count)
                return index == 0 ? cell.0 + space : space + cell.0
            }
            .joined(separator: "  ")
        }
    }
}
